//! A store that takes its time: what a command has said is not lost by that.

use async_trait::async_trait;
use switchboard_server::log::Entry;
use switchboard_server::store::{
    Answered, Change, DeadLetter, Error, Head, IdempotencyKey, Note, StoredTask, TaskList,
    TaskQuery, Webhook,
};
use switchboard_types::model::{PushConfigId, TaskId, Timestamp};

use super::*;

/// Takes this long for each batch of events.
const EACH: Duration = Duration::from_millis(800);

#[derive(Debug, Default)]
struct Slow(MemoryStore);

#[async_trait]
impl Store for Slow {
    async fn commit(&self, changes: Vec<Change>) -> Result<(), Error> {
        if changes.iter().any(|it| matches!(it, Change::Append(_))) {
            tokio::time::sleep(EACH).await;
        }
        self.0.commit(changes).await
    }
    async fn task(&self, id: &TaskId) -> Result<Option<StoredTask>, Error> {
        self.0.task(id).await
    }
    async fn events(
        &self,
        id: &TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Arc<Entry>>, Error> {
        self.0.events(id, after, limit).await
    }
    async fn list(&self, query: TaskQuery) -> Result<TaskList, Error> {
        self.0.list(query).await
    }
    async fn live(&self, after: Option<TaskId>, limit: usize) -> Result<Vec<Head>, Error> {
        self.0.live(after, limit).await
    }
    async fn notes(&self, task: &TaskId) -> Result<Vec<Note>, Error> {
        self.0.notes(task).await
    }
    async fn webhooks(&self, task: &TaskId) -> Result<Vec<Webhook>, Error> {
        self.0.webhooks(task).await
    }
    async fn undelivered(
        &self,
        after: Option<(TaskId, PushConfigId)>,
        limit: usize,
    ) -> Result<Vec<Webhook>, Error> {
        self.0.undelivered(after, limit).await
    }
    async fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, Error> {
        self.0.dead_letters(limit).await
    }
    async fn answered(&self, key: &IdempotencyKey) -> Result<Option<Answered>, Error> {
        self.0.answered(key).await
    }
    async fn old_answers(
        &self,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<IdempotencyKey>, Error> {
        self.0.old_answers(before, limit).await
    }

    async fn foldable(&self, before: Timestamp, limit: usize) -> Result<Vec<TaskId>, Error> {
        self.0.foldable(before, limit).await
    }
    async fn expired(
        &self,
        state: TaskState,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<TaskId>, Error> {
        self.0.expired(state, before, limit).await
    }
}

#[tokio::test]
async fn a_slow_store_does_not_cut_off_what_was_printed() {
    // More than may wait to be stored, and less than a pipe holds: the command has ended long before all is stored.
    let script = r#"for n in $(seq 1500); do echo '{"type":"status","text":"x"}'; done
        echo '{"type":"artifact","text":"the end"}'"#;
    let settings = Settings {
        protocol: Protocol::Json,
        ..shell(script)
    };
    let log = Log::new(Arc::new(Slow::default()));
    let line = on(&log, settings, engine::Settings::default());
    let task = line.send(says("go")).await.unwrap();
    assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
    assert_eq!(text(&task, "output"), "the end");
}

#[tokio::test]
async fn who_left_the_group_and_holds_a_pipe_open_is_not_waited_for() {
    let begin = tokio::time::Instant::now();
    let task = run(
        "echo one; setsid sh -c 'sleep 20; echo two' & sleep 0.1",
        "go",
    )
    .await;
    assert_eq!(state(&task), TaskState::Completed, "{}", said(&task));
    assert_eq!(text(&task, "output"), "one\n");
    assert!(begin.elapsed() < Duration::from_secs(15));
}
