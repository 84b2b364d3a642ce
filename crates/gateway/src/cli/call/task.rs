//! `switchboard task get`, `list`, `cancel` and `subscribe`.

use std::sync::Arc;

use switchboard_client::{CallOptions, Sent};
use switchboard_types::model::{Task, TaskId, TaskState, Timestamp};
use switchboard_types::operation::{ListTasks, Response, TaskPage};
use switchboard_types::{Dialect, wire};

use super::args::{TaskCancelArgs, TaskGetArgs, TaskListArgs, TaskSubscribeArgs};
use super::follow::{Followed, Follower};
use super::send::{conclude, context_id};
use super::{Connected, End, Failure, print_json, print_task, print_text};

/// A task by its id.
pub(super) fn task_id(text: &str) -> Result<TaskId, Failure> {
    TaskId::new(text).map_err(|error| {
        Failure::usage(
            &format!("the task id {error}"),
            "see `switchboard task list`",
        )
    })
}

pub(super) async fn get(args: &TaskGetArgs, connected: &Connected) -> Result<End, Failure> {
    let id = task_id(&args.id)?;
    let task = connected
        .ask(connected.client.get(&id, args.history))
        .await?;
    if !args.wait {
        print_task(connected, &task)?;
        return Ok(End::Done);
    }
    match Follower::new(connected, false, args.history)
        .poll(task)
        .await?
    {
        Followed::To(Sent::Task(task)) => {
            print_task(connected, &task)?;
            Ok(End::Done)
        }
        left => conclude(connected, left, false),
    }
}

pub(super) async fn cancel(args: &TaskCancelArgs, connected: &Connected) -> Result<End, Failure> {
    let id = task_id(&args.id)?;
    let task = connected.ask(connected.client.cancel(&id)).await?;
    print_task(connected, &task)?;
    Ok(End::Done)
}

pub(super) async fn subscribe(
    args: &TaskSubscribeArgs,
    connected: &Connected,
) -> Result<End, Failure> {
    let mut options = CallOptions::new();
    if let Some(id) = &args.last_event_id {
        options = options.last_event_id(id);
    }
    let id = task_id(&args.id)?;
    let events = connected.client.subscribe_with(&id, &options);
    let events = connected.ask(events).await?;
    match Follower::new(connected, args.stream, None)
        .stream(events)
        .await?
    {
        Followed::To(Sent::Task(task)) if !args.stream => {
            print_task(connected, &task)?;
            Ok(End::Done)
        }
        followed => conclude(connected, followed, true),
    }
}

pub(super) async fn list(args: &TaskListArgs, connected: &Connected) -> Result<End, Failure> {
    let mut query = query(args)?;
    let mut all = TaskPage {
        tasks: Vec::new(),
        next_page_token: String::new(),
        page_size: 0,
        total_size: 0,
    };
    loop {
        let mut page = connected.ask(connected.client.list(query.clone())).await?;
        all.tasks.append(&mut page.tasks);
        all.next_page_token.clone_from(&page.next_page_token);
        (all.page_size, all.total_size) = (page.page_size, page.total_size);
        let next = Some(page.next_page_token).filter(|token| !token.is_empty());
        // An agent that says the same place again would never end.
        if !args.all || next.is_none() || next == query.page_token {
            break;
        }
        query.page_token = next;
    }
    print_list(args, connected, all)?;
    Ok(End::Done)
}

fn print_list(args: &TaskListArgs, connected: &Connected, page: TaskPage) -> Result<(), Failure> {
    if !connected.json() {
        let mut text = connected.page();
        for view in &page.tasks {
            if args.artifacts || connected.settings.verbose {
                text.task(&view.task);
            } else {
                text.stands(&view.task);
            }
        }
        text.field(
            "Tasks",
            format!("{} of {}", page.tasks.len(), page.total_size),
        );
        if !page.next_page_token.is_empty() {
            text.field("Next page", &page.next_page_token);
        }
        return print_text(text);
    }
    if args.stream {
        for view in &page.tasks {
            let task: &Arc<Task> = &view.task;
            print_json(|out| wire::encode_task(Dialect::V1, task, out))?;
        }
        return Ok(());
    }
    let response = Response::Tasks(page);
    print_json(|out| wire::encode_response(Dialect::V1, &response, out))
}

fn query(args: &TaskListArgs) -> Result<ListTasks, Failure> {
    Ok(ListTasks {
        context_id: args.context_id.as_deref().map(context_id).transpose()?,
        status: args.status.as_deref().map(state).transpose()?,
        page_size: args.page_size,
        page_token: args.page_token.clone(),
        history_length: args.history,
        status_timestamp_after: args.after.as_deref().map(moment).transpose()?,
        include_artifacts: args.artifacts,
    })
}

fn state(text: &str) -> Result<TaskState, Failure> {
    let wanted = text.to_ascii_lowercase().replace('_', "-");
    let wanted = wanted.strip_prefix("task-state-").unwrap_or(&wanted);
    let found = TaskState::ALL
        .into_iter()
        .find(|state| state.name() == wanted);
    found.ok_or_else(|| {
        let names = TaskState::ALL.map(TaskState::name).join(", ");
        Failure::usage(
            &format!("--status: `{text}` is not a task state"),
            &format!("one of {names}"),
        )
    })
}

fn moment(text: &str) -> Result<Timestamp, Failure> {
    Timestamp::parse(text).map_err(|error| {
        Failure::usage(
            &format!("--after: {error}"),
            "write it like 2026-01-31T12:00:00Z",
        )
    })
}
