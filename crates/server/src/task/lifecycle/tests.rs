//! Every state × every event, and what a task is after any legal history.

use proptest::prelude::*;
use switchboard_types::model::{
    Artifact, ArtifactId, ArtifactUpdate, ContextId, Event, Message, MessageId, Part, Role,
    StatusUpdate, Task, TaskId, TaskState, TaskStatus, Timestamp,
};

use super::*;

/// The event with that number, at any time.
fn entry_of(seq: u64, event: Event, received: Option<Arc<Message>>) -> Entry {
    Entry::new(seq, Timestamp::from_micros(0), event, received)
}

fn task(state: TaskState) -> Task {
    Task {
        id: TaskId::new("t").unwrap(),
        context_id: ContextId::new("c").unwrap(),
        status: status(state, None),
        artifacts: Vec::new(),
        history: vec![message(Role::User, "hello").into()],
        metadata: None,
    }
}

fn status(state: TaskState, message: Option<Message>) -> TaskStatus {
    TaskStatus {
        state,
        message: message.map(Arc::new),
        timestamp: None,
    }
}

fn message(role: Role, text: &str) -> Message {
    Message::new(MessageId::new(text).unwrap(), role, vec![Part::text(text)])
}

fn becomes(state: TaskState) -> Event {
    says(state, None)
}

fn says(state: TaskState, said: Option<Message>) -> Event {
    Event::Status(StatusUpdate {
        task_id: TaskId::new("t").unwrap(),
        context_id: ContextId::new("c").unwrap(),
        status: status(state, said),
        metadata: None,
    })
}

fn piece(id: &str, text: &str, append: bool) -> Event {
    Event::Artifact(ArtifactUpdate {
        task_id: TaskId::new("t").unwrap(),
        context_id: ContextId::new("c").unwrap(),
        artifact: Artifact::new(ArtifactId::new(id).unwrap(), vec![Part::text(text)]).into(),
        append,
        last_chunk: false,
        metadata: None,
    })
}

/// The table, written out: rows are states, columns are the states that may follow.
#[test]
fn every_state_and_every_status() {
    use TaskState::{
        AuthRequired, Canceled, Completed, Failed, InputRequired, Rejected, Submitted, Unknown,
        Working,
    };
    let from_active = [
        Working,
        Completed,
        Failed,
        Canceled,
        InputRequired,
        Rejected,
        AuthRequired,
    ];
    let from_interrupted = [Working, Failed, Canceled, Rejected];
    for from in TaskState::ALL {
        let allowed: &[TaskState] = match from {
            Submitted | Working => &from_active,
            InputRequired | AuthRequired => &from_interrupted,
            Completed | Failed | Canceled | Rejected | Unknown => &[],
        };
        for to in TaskState::ALL {
            let verdict = check(from, &becomes(to));
            if allowed.contains(&to) {
                assert_eq!(verdict, Ok(to), "{from:?} -> {to:?}");
            } else if from.is_terminal() {
                assert_eq!(verdict, Err(IllegalTransition::Over(from)));
            } else {
                assert_eq!(verdict, Err(IllegalTransition::Status { from, to }));
            }
        }
    }
}

#[test]
fn only_a_working_task_produces() {
    for state in TaskState::ALL {
        let verdict = check(state, &piece("a", "x", false));
        match state {
            TaskState::Working => assert_eq!(verdict, Ok(state)),
            _ if state.is_terminal() => assert_eq!(verdict, Err(IllegalTransition::Over(state))),
            _ => assert_eq!(verdict, Err(IllegalTransition::Artifact(state))),
        }
    }
}

#[test]
fn a_task_begins_once_and_bare_messages_are_not_part_of_it() {
    let again = Event::Task(task(TaskState::Submitted).into());
    let bare = Event::Message(message(Role::Agent, "hi").into());
    for event in [again, bare] {
        assert_eq!(
            check(TaskState::Working, &event),
            Err(IllegalTransition::Beginning)
        );
    }
}

#[test]
fn pieces_are_appended_replaced_or_begun() {
    let mut task = task(TaskState::Working);
    for (seq, event) in [
        piece("a", "1", false),
        piece("b", "x", true),
        piece("a", "2", true),
        piece("b", "y", false),
    ]
    .into_iter()
    .enumerate()
    {
        apply(&mut task, &entry_of(seq as u64, event, None));
    }
    let texts: Vec<Vec<&str>> = task
        .artifacts
        .iter()
        .map(|a| a.parts.iter().filter_map(Part::as_text).collect())
        .collect();
    assert_eq!(texts, [vec!["12"], vec!["y"]]);
}

#[test]
fn a_streamed_text_grows_in_place_and_readers_keep_what_they_hold() {
    const CHUNKS: usize = 100_000;
    let mut task = Arc::new(task(TaskState::Working));
    let (mut moves, mut at) = (0, std::ptr::null());
    let mut held = Vec::new();
    for n in 0..CHUNKS {
        let entry = entry_of(n as u64, piece("a", "0123456789", n > 0), None);
        apply(Arc::make_mut(&mut task), &entry);
        let [part] = task.artifacts[0].parts.as_slice() else {
            panic!("{:?}", task.artifacts[0].parts.len());
        };
        let text = part.as_text().unwrap();
        if text.as_ptr() != at {
            (moves, at) = (moves + 1, text.as_ptr());
        }
        if n % 10_000 == 0 {
            held.push((Arc::clone(&task), text.len()));
        }
    }
    let text = task.artifacts[0].parts[0].as_text().unwrap();
    assert_eq!(text.len(), CHUNKS * 10);
    // It is copied when it has doubled, and once for each reader.
    assert!(moves < 50, "{moves}");
    for (task, len) in held {
        assert_eq!(task.artifacts[0].parts[0].as_text().unwrap().len(), len);
    }
}

#[test]
fn the_question_and_its_answer_go_into_the_history() {
    let mut task = task(TaskState::Working);
    let question = message(Role::Agent, "which one?");
    let asks = says(TaskState::InputRequired, Some(question));
    apply(&mut task, &entry_of(2, asks, None));
    let answer = message(Role::User, "the red one");
    let goes_on = entry_of(3, becomes(TaskState::Working), Some(answer.into()));
    apply(&mut task, &goes_on);
    let said: Vec<String> = task.history.iter().map(|m| m.text()).collect();
    assert_eq!(said, ["hello", "which one?", "the red one"]);
    assert_eq!(task.status.message, None);
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        proptest::sample::select(TaskState::ALL.to_vec()).prop_map(becomes),
        (0..3_u8, any::<bool>()).prop_map(|(id, append)| piece(&id.to_string(), "x", append)),
    ]
}

proptest! {
    /// Whatever an agent tries: a terminal state is final, and the state told is the last one accepted.
    #[test]
    fn terminal_is_final(events in proptest::collection::vec(any_event(), 0..40)) {
        let mut task = task(TaskState::Submitted);
        let mut state = TaskState::Submitted;
        let mut ended_as = None;
        for (seq, event) in events.into_iter().enumerate() {
            match check(state, &event) {
                Ok(next) => {
                    prop_assert_eq!(ended_as, None);
                    apply(&mut task, &entry_of(seq as u64 + 2, event, None));
                    state = next;
                    ended_as = state.is_terminal().then_some(state);
                }
                Err(IllegalTransition::Over(over)) => prop_assert_eq!(Some(over), ended_as),
                Err(_) => {}
            }
            prop_assert_eq!(task.status.state, state);
        }
    }

    /// Folding from the beginning and folding from any snapshot give the same task.
    #[test]
    fn a_snapshot_stands_for_what_came_before(
        events in proptest::collection::vec(any_event(), 1..30),
        cut in 0..30_usize,
    ) {
        let mut state = TaskState::Submitted;
        let begin = Event::Task(task(state).into());
        let mut entries = vec![Arc::new(entry_of(1, begin, None))];
        for event in events {
            if let Ok(next) = check(state, &event) {
                state = next;
                entries.push(Arc::new(entry_of(entries.len() as u64 + 1, event, None)));
            }
        }
        let head = crate::task::Head {
            id: TaskId::new("t").unwrap(),
            agent: "a".into(),
            owner: crate::task::Owner::new("o"),
            context: ContextId::new("c").unwrap(),
            state,
            updated: crate::clock::now(),
            seq: entries.len() as u64,
        };
        let stored = |snapshot, entries| StoredTask { head: head.clone(), snapshot, entries };
        let whole = fold(stored(None, entries.clone())).unwrap();
        let cut = 1 + cut % entries.len();
        let early = fold(stored(None, entries[..cut].to_vec())).unwrap();
        let snapshot = crate::task::Snapshot { task: Arc::new(early), seq: cut as u64 };
        let resumed = fold(stored(Some(snapshot), entries[cut..].to_vec())).unwrap();
        prop_assert_eq!(whole, resumed);
    }
}
