//! `switchboard task push-config`: where an agent calls back about a task.

use switchboard_types::model::{Authentication, PushConfig, PushConfigId, Secret};
use switchboard_types::operation::{PushConfigPage, Response};
use switchboard_types::{Dialect, wire};

use super::args::{PushConfigCommand, PushCreateArgs};
use super::task::task_id;
use super::{Connected, End, Failure, print_json, print_text};

pub(super) async fn run(
    command: &PushConfigCommand,
    connected: &Connected,
) -> Result<End, Failure> {
    let client = &connected.client;
    match command {
        PushConfigCommand::Create(args) => {
            let made = connected
                .ask(client.create_push_config(config(args)?))
                .await?;
            print_config(connected, &made)?;
        }
        PushConfigCommand::Get(args) => {
            let (task, id) = (task_id(&args.task)?, config_id(&args.id)?);
            let found = connected.ask(client.push_config(&task, &id)).await?;
            print_config(connected, &found)?;
        }
        PushConfigCommand::List(args) => {
            let task = task_id(&args.task)?;
            let found = connected.ask(client.push_configs(&task)).await?;
            print_all(connected, found)?;
        }
        PushConfigCommand::Delete(args) => {
            let (task, id) = (task_id(&args.task)?, config_id(&args.id)?);
            connected.ask(client.delete_push_config(&task, &id)).await?;
            print_deleted(connected, &args.task, &args.id)?;
        }
    }
    Ok(End::Done)
}

fn config(args: &PushCreateArgs) -> Result<PushConfig, Failure> {
    let credentials = args.auth_credentials.as_deref().map(Secret::new);
    Ok(PushConfig {
        id: args.id.as_deref().map(config_id).transpose()?,
        task_id: Some(task_id(&args.task)?),
        url: args.url.clone(),
        token: args.token.as_deref().map(Secret::new),
        authentication: args.auth_scheme.clone().map(|scheme| Authentication {
            scheme,
            credentials,
        }),
    })
}

fn config_id(text: &str) -> Result<PushConfigId, Failure> {
    PushConfigId::new(text).map_err(|error| {
        Failure::usage(
            &format!("the name of the config {error}"),
            "see `task push-config list`",
        )
    })
}

fn print_config(connected: &Connected, config: &PushConfig) -> Result<(), Failure> {
    if connected.json() {
        return print_json(|out| wire::encode_push_config(Dialect::V1, config, out));
    }
    let mut page = connected.page();
    page.push_config(config);
    print_text(page)
}

fn print_all(connected: &Connected, configs: Vec<PushConfig>) -> Result<(), Failure> {
    if connected.json() {
        let page = Response::PushConfigs(PushConfigPage {
            configs,
            next_page_token: String::new(),
        });
        return print_json(|out| wire::encode_response(Dialect::V1, &page, out));
    }
    let mut page = connected.page();
    for config in &configs {
        page.push_config(config);
    }
    page.field("Configs", configs.len().to_string());
    print_text(page)
}

fn print_deleted(connected: &Connected, task: &str, id: &str) -> Result<(), Failure> {
    if connected.json() {
        return print_json(|out| out.extend_from_slice(b"{}"));
    }
    let mut page = connected.page();
    page.field("Deleted", id);
    page.field("Task", task);
    print_text(page)
}
