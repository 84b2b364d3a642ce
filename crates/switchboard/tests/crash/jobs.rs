//! What the clients do, one job after the other, until the server has been killed often enough.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use crate::plan::Dice;
use crate::reader::{Reader, Until};
use crate::wire::{self, Dialect, Line, Sending, Trouble, is_over};
use crate::world::{End, Fault, Promise, World};

/// No job may take longer, whatever happens to the server meanwhile.
const STUCK: Duration = Duration::from_secs(90);

/// What a client does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Sends, and waits for the answer or not; sometimes twice at the same time.
    Send,
    /// Streams.
    Stream,
    /// Answers questions.
    Converse,
    /// Cancels.
    Cancel,
    /// Reads again what was acknowledged.
    Audit,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] = [
        Self::Send,
        Self::Stream,
        Self::Converse,
        Self::Cancel,
        Self::Audit,
    ];
}

/// One client.
pub(crate) struct Client {
    world: Arc<World>,
    kind: Kind,
    name: String,
    dice: Dice,
}

impl Client {
    pub(crate) fn new(world: Arc<World>, kind: Kind, number: u64, dice: Dice) -> Self {
        let name = format!("{kind:?}-{number}");
        Self {
            world,
            kind,
            name,
            dice,
        }
    }

    /// Does its job again and again.
    pub(crate) async fn work(mut self) {
        while !self.world.stopped() {
            let done = match timeout(STUCK, self.job()).await {
                Ok(done) => done,
                Err(_) => Err(format!("stuck for {} s", STUCK.as_secs())),
            };
            if let Err(fault) = done {
                self.world.fault(format!("{}: {fault}", self.name));
            }
        }
    }

    async fn job(&mut self) -> Result<(), Fault> {
        match self.kind {
            Kind::Send => self.send().await,
            Kind::Stream => self.stream().await,
            Kind::Converse => self.converse().await,
            Kind::Cancel => self.cancel().await,
            Kind::Audit => self.audit().await,
        }
    }

    fn line(&mut self) -> Line {
        self.world.line(self.dice.pick(&Dialect::ALL))
    }

    /// A message for a new task, sometimes with a webhook.
    fn sending(&mut self, agent: &'static str) -> (Sending, Option<String>) {
        let number = self.world.number();
        let hook = self.dice.chance(40).then(|| format!("h{number}"));
        let words = 3 + self.dice.below(20);
        let text: Vec<String> = (1..=words).map(|word| format!("{number}.{word}")).collect();
        let sending = Sending {
            agent,
            message: format!("m{number}"),
            text: text.join(" "),
            task: None,
            key: format!("k{number}"),
            webhook: hook.as_ref().map(|hook| self.world.receiver.url(hook)),
            at_once: self.dice.chance(30),
        };
        (sending, hook)
    }

    fn promise(&self, sending: &Sending, task: &str, hook: Option<String>, line: &Line) -> Promise {
        let known = (sending.agent, task.to_owned());
        self.world.ledger().known.push(known);
        Promise {
            agent: sending.agent,
            task: task.to_owned(),
            messages: vec![(sending.message.clone(), sending.text.clone())],
            hook,
            dialect: line.dialect,
            end: End::Completed,
        }
    }

    fn keep(&self, promise: Promise) {
        self.world.ledger().promises.push(promise);
    }

    async fn send(&mut self) -> Result<(), Fault> {
        let agent = self.dice.pick(&["echo", "echo", "slow", "desk"]);
        let (line, (sending, hook)) = (self.line(), self.sending(agent));
        let twice = self.dice.chance(25);
        let (one, two) = tokio::join!(self.acknowledged(&line, &sending), async {
            match twice {
                true => self.acknowledged(&line, &sending).await.map(Some),
                false => Ok(None),
            }
        });
        let (one, two) = (one?, two?);
        let task = id(&one)?;
        if let Some(two) = two
            && id(&two)? != task
        {
            return Err(format!(
                "two tasks for the key {}: {one}, {two}",
                sending.key
            ));
        }
        if !sending.at_once && !is_over(&wire::state(&one)) {
            return Err(format!("not over, though waited for: {one}"));
        }
        let promise = self.promise(&sending, &task, hook, &line);
        self.keep(promise);
        Ok(())
    }

    /// Sends until it is acknowledged.
    async fn acknowledged(&self, line: &Line, sending: &Sending) -> Result<Value, Fault> {
        let sent = self.world.insist(|| line.send(sending, false)).await;
        sent.map_err(|trouble| format!("{:?} {sending:?}: {trouble}", line.dialect))
    }

    async fn stream(&mut self) -> Result<(), Fault> {
        let agent = self.dice.pick(&["slow", "slow", "echo", "desk"]);
        let (line, (sending, hook)) = (self.line(), self.sending(agent));
        let mut reader = Reader::new(&self.world, line.clone(), agent, &self.name);
        reader.send(&sending, Until::End).await?;
        let (task, state) = reader.told().ok_or("a stream of nothing")?;
        if state != "completed" {
            return Err(format!("{agent} {task} is {state}"));
        }
        let promise = self.promise(&sending, task, hook, &line);
        self.keep(promise);
        reader.hand_in();
        Ok(())
    }

    /// Turn after turn, each streamed or sent and then followed.
    async fn converse(&mut self) -> Result<(), Fault> {
        let agent = self.dice.pick(&["asks", "relay"]);
        let line = self.line();
        let turns = 2 + self.dice.below(2);
        let (mut sending, hook) = self.sending(agent);
        let mut reader = Reader::new(&self.world, line.clone(), agent, &self.name);
        let mut promise: Option<Promise> = None;
        for turn in 1..=turns {
            sending = self.next_turn(sending, promise.as_ref(), turn == turns);
            if self.dice.chance(50) {
                reader.send(&sending, Until::Turn).await?;
            } else {
                sending.at_once = true;
                let task = id(&self.acknowledged(&line, &sending).await?)?;
                reader = reader.of(&task);
                reader.follow(Until::Turn).await?;
            }
            let (task, state) = reader.told().ok_or("a stream of nothing")?;
            let right = if turn == turns {
                "completed"
            } else {
                "input-required"
            };
            if state != right {
                return Err(format!(
                    "{agent} {task} is {state} after turn {turn} of {turns}"
                ));
            }
            match &mut promise {
                Some(promise) => {
                    let message = (sending.message.clone(), sending.text.clone());
                    promise.messages.push(message);
                }
                none => *none = Some(self.promise(&sending, task, hook.clone(), &line)),
            }
        }
        self.world.ledger().promises.extend(promise);
        reader.hand_in();
        Ok(())
    }

    fn next_turn(&self, before: Sending, promise: Option<&Promise>, last: bool) -> Sending {
        let number = self.world.number();
        let first = promise.is_none();
        Sending {
            message: format!("m{number}"),
            text: format!("{} {number}", if last { "enough" } else { "more" }),
            task: promise.map(|promise| promise.task.clone()),
            key: format!("k{number}"),
            webhook: before.webhook.filter(|_| first),
            at_once: false,
            agent: before.agent,
        }
    }

    /// Begins something long and stops it.
    async fn cancel(&mut self) -> Result<(), Fault> {
        let agent = self.dice.pick(&["slow", "slow", "desk", "asks"]);
        let (line, (mut sending, hook)) = (self.line(), self.sending(agent));
        sending.at_once = true;
        sending.text.insert_str(0, "more ");
        let task = id(&self.acknowledged(&line, &sending).await?)?;
        let mut promise = self.promise(&sending, &task, hook, &line);
        let mut reader = None;
        if self.dice.chance(50) {
            let watching = Reader::new(&self.world, line.clone(), agent, &self.name);
            reader = Some(watching.of(&task));
        }
        let wait = self.dice.pick(&[0, 5, 50, 300]);
        let wait = self.dice.millis(wait);
        let stop = async {
            // Right at its beginning, or somewhere in the middle of its work.
            tokio::time::sleep(wait).await;
            self.world.insist(|| line.cancel(agent, &task)).await
        };
        let (canceled, watched) = match &mut reader {
            Some(reader) => tokio::join!(stop, reader.watch(Until::End)),
            None => (stop.await, Ok(())),
        };
        watched?;
        promise.end = match canceled {
            Ok(answer) if wire::state(&answer) == "canceled" => End::Canceled,
            Err(Trouble::NotCancelable) => End::Either,
            Ok(answer) => return Err(format!("cancel of {agent} {task}: {answer}")),
            Err(trouble) => return Err(format!("cancel of {agent} {task}: {trouble}")),
        };
        self.keep(promise);
        if let Some(reader) = reader {
            reader.hand_in();
        }
        Ok(())
    }

    /// Reads a task that was acknowledged some time ago; what is over stays as it is.
    async fn audit(&mut self) -> Result<(), Fault> {
        let known = {
            let ledger = self.world.ledger();
            let count = u64::try_from(ledger.known.len()).unwrap_or(u64::MAX);
            let index = usize::try_from(self.dice.below(count)).unwrap_or_default();
            ledger.known.get(index).cloned()
        };
        let Some((agent, task)) = known else {
            self.world.pause().await;
            return Ok(());
        };
        let line = self.world.line(Dialect::Rpc10);
        let found = self.world.insist(|| line.get(agent, &task)).await;
        let found = found.map_err(|trouble| format!("{agent} {task} is lost: {trouble}"))?;
        if !is_over(&wire::state(&found)) {
            return Ok(());
        }
        let mut ledger = self.world.ledger();
        let before = ledger.endings.entry(task).or_insert_with(|| found.clone());
        if *before != found {
            return Err(format!(
                "{agent} was over and changed: {before}, then {found}"
            ));
        }
        Ok(())
    }
}

fn id(task: &Value) -> Result<String, Fault> {
    let id = task["id"].as_str().map(str::to_owned);
    id.ok_or_else(|| format!("no task: {task}"))
}
