//! A log, an outbox, and tasks with webhooks.

use std::sync::Arc;
use std::time::Duration;

use switchboard_server::clock;
use switchboard_server::egress::{Allow, Guard};
use switchboard_server::log::{Log, NewTask, TaskLog};
use switchboard_server::push::{Outbox, Settings};
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::{MemoryStore, Store};
use switchboard_server::task::{Change, DeadLetter, Delivery, Origin, Owner, Webhook};
use switchboard_testkit::eventually;
use switchboard_types::Dialect;
use switchboard_types::model::{
    Artifact, ArtifactId, ArtifactUpdate, ContextId, Event, Part, PushConfig, PushConfigId,
    StatusUpdate, Task, TaskId, TaskState, TaskStatus,
};

/// Whose tasks those are that no test gives to anyone else.
const OWNER: &str = "owner";

pub(crate) struct Scene {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) log: Log,
    pub(crate) tasks: Tasks,
    guard: Arc<Guard>,
    settings: Settings,
}

/// Quick, so that tests need not wait.
pub(crate) fn quick() -> Settings {
    Settings {
        timeout: Duration::from_secs(10),
        first_retry: Duration::from_millis(20),
        max_retry: Duration::from_millis(40),
        ..Settings::default()
    }
}

pub(crate) fn loopback() -> Guard {
    Guard::new(vec![Allow::parse("127.0.0.1").unwrap()])
}

impl Scene {
    /// A log with a running outbox.
    pub(crate) fn start(settings: Settings) -> Self {
        Self::with(loopback(), settings)
    }

    pub(crate) fn with(guard: Guard, settings: Settings) -> Self {
        let scene = Self::without_outbox(guard, settings);
        scene.run();
        scene
    }

    pub(crate) fn without_outbox(guard: Guard, settings: Settings) -> Self {
        Self::on(Arc::new(MemoryStore::new()), guard, settings)
    }

    pub(crate) fn on(store: Arc<dyn Store>, guard: Guard, settings: Settings) -> Self {
        let log = Log::new(Arc::clone(&store));
        Self {
            store,
            log,
            tasks: Tasks::default(),
            guard: Arc::new(guard),
            settings,
        }
    }

    pub(crate) fn run(&self) {
        let guard = Arc::clone(&self.guard);
        let settings = self.settings.clone();
        Outbox::start(self.log.clone(), guard, settings, self.tasks.clone());
    }

    /// Stops everything, and begins anew on the same store.
    pub(crate) async fn restart(self) -> Self {
        self.tasks.stop();
        assert!(self.tasks.drain(Duration::from_secs(5)).await);
        self.log.close().await;
        let scene = Self {
            log: Log::new(Arc::clone(&self.store)),
            tasks: Tasks::default(),
            ..self
        };
        scene.run();
        scene
    }

    /// A new task with these webhooks.
    pub(crate) fn task(&self, id: &str, webhooks: &[(&str, &str, Dialect)]) -> Arc<TaskLog> {
        let webhooks = webhooks
            .iter()
            .map(|(name, url, dialect)| webhook(id, name, url, *dialect));
        self.task_with(id, webhooks.collect())
    }

    pub(crate) fn task_with(&self, id: &str, webhooks: Vec<Webhook>) -> Arc<TaskLog> {
        self.task_of(OWNER, id, webhooks)
    }

    /// A new task of that owner, with these webhooks.
    pub(crate) fn task_of(&self, owner: &str, id: &str, webhooks: Vec<Webhook>) -> Arc<TaskLog> {
        let webhooks = webhooks.into_iter().map(|webhook| Webhook {
            owner: Owner::new(owner),
            ..webhook
        });
        let log = self.log.create(Origin {
            id: TaskId::new(id).unwrap(),
            agent: Arc::from("agent"),
            owner: Owner::new(owner),
            context: ContextId::new("context").unwrap(),
        });
        let task = Task {
            id: TaskId::new(id).unwrap(),
            context_id: ContextId::new("context").unwrap(),
            status: status(TaskState::Submitted),
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
        };
        log.begin(NewTask {
            task: task.into(),
            changes: webhooks.map(Change::PutWebhook).collect(),
            decision: None,
            trace: None,
            draft: false,
        });
        log.uncork();
        log
    }

    pub(crate) async fn delivery(&self, task: &str, webhook: &str) -> Option<Delivery> {
        let webhooks = self
            .store
            .webhooks(&TaskId::new(task).unwrap())
            .await
            .unwrap();
        let found = webhooks.into_iter().find(|w| w.id.as_str() == webhook);
        found.map(|webhook| webhook.delivery)
    }

    /// Waits until the stored delivery is as wanted.
    pub(crate) async fn until(
        &self,
        task: &str,
        webhook: &str,
        wanted: impl Fn(&Delivery) -> bool,
    ) -> Delivery {
        eventually("the delivery", async || {
            self.delivery(task, webhook).await.filter(&wanted)
        })
        .await
    }

    /// The dead letters, oldest first.
    pub(crate) async fn dead_letters(&self) -> Vec<DeadLetter> {
        let mut letters = self.store.dead_letters(100).await.unwrap();
        letters.reverse();
        letters
    }
}

pub(crate) fn webhook(task: &str, id: &str, url: &str, dialect: Dialect) -> Webhook {
    let task = TaskId::new(task).unwrap();
    let id = PushConfigId::new(id).unwrap();
    Webhook {
        task: task.clone(),
        id: id.clone(),
        owner: Owner::new(OWNER),
        config: PushConfig {
            id: Some(id),
            task_id: Some(task),
            url: url.to_owned(),
            token: None,
            authentication: None,
        },
        dialect,
        delivery: Delivery::up_to(0),
    }
}

fn status(state: TaskState) -> TaskStatus {
    TaskStatus {
        state,
        message: None,
        timestamp: Some(clock::now()),
    }
}

/// What happens to tasks.
pub(crate) trait Happen {
    fn becomes(&self, state: TaskState);
    fn produces(&self, text: &str);
}

impl Happen for Arc<TaskLog> {
    fn becomes(&self, state: TaskState) {
        let update = StatusUpdate {
            task_id: self.id().clone(),
            context_id: ContextId::new("context").unwrap(),
            status: status(state),
            metadata: None,
        };
        self.append(Event::Status(update)).unwrap();
    }

    fn produces(&self, text: &str) {
        let update = ArtifactUpdate {
            task_id: self.id().clone(),
            context_id: ContextId::new("context").unwrap(),
            artifact: Artifact::new(ArtifactId::new("a").unwrap(), vec![Part::text(text)]).into(),
            append: true,
            last_chunk: false,
            metadata: None,
        };
        self.append(Event::Artifact(update)).unwrap();
    }
}
