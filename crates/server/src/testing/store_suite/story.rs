//! Tasks to store: each is told step by step, and knows what a store should say of it.

use std::sync::Arc;

use switchboard_types::model::{
    Artifact, ArtifactId, ArtifactUpdate, ContextId, Event, Json, Message, MessageId, Part, Role,
    StatusUpdate, Task, TaskId, TaskState, TaskStatus, Timestamp,
};

use crate::store::{Store, TaskQuery};
use crate::task::{Append, Change, Entry, Head, Owner, Snapshot, StoredTask, lifecycle};

/// One task and what happened to it.
#[derive(Debug, Clone)]
pub struct Story {
    /// Where it stands.
    pub head: Head,
    /// All its events.
    pub entries: Vec<Arc<Entry>>,
}

/// A moment `seconds` after some fixed one.
#[must_use]
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_761_818_400_000_000 + seconds * 1_000_000)
}

impl Story {
    /// The task with number `n`; a greater number makes a greater id.
    #[must_use]
    pub fn new(n: u32) -> Self {
        let id = format!(
            "0190a5c3-{:04x}-7{:03x}-8000-00000000abcd",
            n >> 12,
            n & 0xfff
        );
        Self {
            head: Head {
                id: TaskId::new(id).unwrap(),
                agent: "echo".into(),
                owner: Owner::new("caller-a"),
                context: ContextId::new(format!("context-{n}")).unwrap(),
                state: TaskState::Submitted,
                updated: at(0),
                seq: 0,
            },
            entries: Vec::new(),
        }
    }

    /// With another id.
    #[must_use]
    pub fn named(mut self, id: &str) -> Self {
        self.head.id = TaskId::new(id).unwrap();
        self
    }

    /// At another agent.
    #[must_use]
    pub fn at_agent(mut self, agent: &str) -> Self {
        self.head.agent = agent.into();
        self
    }

    /// Of another owner.
    #[must_use]
    pub fn owned_by(mut self, owner: &str) -> Self {
        self.head.owner = Owner::new(owner);
        self
    }

    /// In another conversation.
    #[must_use]
    pub fn in_context(mut self, context: &str) -> Self {
        self.head.context = ContextId::new(context).unwrap();
        self
    }

    /// The id.
    #[must_use]
    pub fn id(&self) -> &TaskId {
        &self.head.id
    }

    /// The next step: the task begins if it has not, says something, and is in `state` since `when`.
    pub fn step(&mut self, state: TaskState, when: Timestamp) -> Change {
        let from = self.entries.len();
        if from == 0 {
            let question = self.message("question", Role::User, "what? — なに？ 🙂");
            self.tell(Event::Task(Arc::new(self.task())), Some(question));
        }
        let n = self.entries.len();
        self.tell(
            self.artifact(&format!("piece {n} of the answer"), n > 1),
            None,
        );
        self.head.state = state;
        self.head.updated = when;
        let status = Event::Status(StatusUpdate {
            task_id: self.head.id.clone(),
            context_id: self.head.context.clone(),
            status: self.status(),
            metadata: None,
        });
        self.tell(status, None);
        self.append(from)
    }

    /// A step that changes nothing but what was said.
    pub fn say(&mut self, text: &str) -> Change {
        let from = self.entries.len();
        self.tell(self.artifact(text, true), None);
        self.append(from)
    }

    /// Any event.
    pub fn tell(&mut self, event: Event, received: Option<Message>) {
        self.head.seq += 1;
        // Artifacts have a time of their own, a moment after the status before them.
        let later = self.head.updated.as_micros() + i64::try_from(self.head.seq).unwrap();
        let at = Entry::stated_time(&event).unwrap_or(Timestamp::from_micros(later));
        self.entries.push(Arc::new(Entry::new(
            self.head.seq,
            at,
            event,
            received.map(Arc::new),
        )));
    }

    /// The append of all events after the first `from`.
    #[must_use]
    pub fn append(&self, from: usize) -> Change {
        Change::Append(Append {
            head: self.head.clone(),
            entries: self.entries[from..].to_vec(),
            snapshot: None,
            holder: None,
        })
    }

    /// The task as it stands, with all it has.
    #[must_use]
    pub fn whole(&self) -> Task {
        let stored = StoredTask {
            head: self.head.clone(),
            snapshot: None,
            entries: self.entries.clone(),
        };
        lifecycle::fold(stored).unwrap()
    }

    /// The task as it stands, without what it produced.
    #[must_use]
    pub fn task(&self) -> Task {
        Task {
            id: self.head.id.clone(),
            context_id: self.head.context.clone(),
            status: self.status(),
            artifacts: Vec::new(),
            history: vec![self.message("question", Role::User, "what?").into()],
            metadata: None,
        }
    }

    /// A snapshot after the last event.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            task: Arc::new(self.task()),
            seq: self.head.seq,
        }
    }

    /// A message in this task.
    #[must_use]
    pub fn message(&self, id: &str, role: Role, text: &str) -> Message {
        let mut message = Message::new(MessageId::new(id).unwrap(), role, vec![Part::text(text)]);
        message.task_id = Some(self.head.id.clone());
        message.context_id = Some(self.head.context.clone());
        message
    }

    /// A piece of an artifact.
    #[must_use]
    pub fn artifact(&self, text: &str, append: bool) -> Event {
        let parts = vec![
            Part::text(text),
            Part::data(Json::parse(r#"{"n":9007199254740993}"#).unwrap()),
        ];
        Event::Artifact(ArtifactUpdate {
            task_id: self.head.id.clone(),
            context_id: self.head.context.clone(),
            artifact: Artifact::new(ArtifactId::new("answer").unwrap(), parts).into(),
            append,
            last_chunk: false,
            metadata: None,
        })
    }

    fn status(&self) -> TaskStatus {
        TaskStatus {
            state: self.head.state,
            message: None,
            timestamp: Some(self.head.updated),
        }
    }

    /// Checks that the store tells the same story.
    pub async fn assert_stored_in(&self, store: &dyn Store) {
        let stored = store.task(self.id()).await.unwrap().unwrap();
        self.assert_is(&stored);
        let head = store.head(self.id()).await.unwrap();
        assert_eq!(head.as_ref(), Some(&self.head));
    }

    /// Checks that `stored` is this story, told without a snapshot.
    pub fn assert_is(&self, stored: &StoredTask) {
        assert_eq!(stored.head, self.head);
        assert!(stored.snapshot.is_none());
        assert_eq!(stored.entries, self.entries);
    }
}

/// Commits one set of changes, of which nothing is refused.
pub async fn commit<const N: usize>(store: &dyn Store, changes: [Change; N]) {
    let report = store.commit(Vec::from(changes)).await.unwrap();
    assert_eq!(report.refused, []);
}

/// The tasks of the stories' usual agent and owner.
#[must_use]
pub(super) fn all() -> TaskQuery {
    TaskQuery::of("echo".into(), Owner::new("caller-a"))
}

/// The ids on a page, and the total.
pub(super) async fn listed(store: &dyn Store, query: TaskQuery) -> (Vec<TaskId>, u64) {
    let list = store.list(query).await.unwrap();
    let ids = list.tasks.into_iter().map(|task| task.head.id).collect();
    (ids, list.total)
}

/// The ids of stories.
#[must_use]
pub(super) fn ids<'a>(stories: impl IntoIterator<Item = &'a Story>) -> Vec<TaskId> {
    stories
        .into_iter()
        .map(|story| story.head.id.clone())
        .collect()
}
