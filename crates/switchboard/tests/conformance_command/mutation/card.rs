//! The card of the agent.

use serde_json::{Value, json};

use super::agent::{Agent, Credentials};

/// Where an interface is below the agent's address.
pub(super) fn path(interface: &str) -> &'static str {
    match interface {
        "JSONRPC 1.0" => "/rpc",
        "HTTP+JSON 1.0" => "/rest",
        "JSONRPC 0.3" => "/rpc-0.3",
        _ => "/rest-0.3",
    }
}

/// The card: of 1.0 if an interface of it is offered, else of 0.3.
pub(super) fn card(agent: &Agent) -> Value {
    let traits = &agent.traits;
    let mut card = json!({
        "name": "Specimen", "description": "Answers, takes its time or asks back", "version": "1.0.0",
        "capabilities": {"streaming": traits.streaming, "pushNotifications": traits.push},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "echo", "name": "Echo", "description": "Says it again", "tags": ["echo"]}],
    });
    if let Some((uri, required)) = traits.extension {
        card["capabilities"]["extensions"] = json!([{"uri": uri, "required": required}]);
    }
    let urls: Vec<(&str, String)> = traits
        .interfaces
        .iter()
        .map(|name| (*name, format!("{}{}", agent.base, path(name))))
        .collect();
    let binding = |name: &str| name.split(' ').next().unwrap_or_default().to_owned();
    if traits.interfaces.iter().any(|name| name.ends_with("1.0")) {
        let interfaces = urls.iter().map(|(name, url)| {
            let version = name.rsplit(' ').next();
            json!({"url": url, "protocolBinding": binding(name), "protocolVersion": version})
        });
        card["supportedInterfaces"] = interfaces.collect();
        if traits.extended_card {
            card["capabilities"]["extendedAgentCard"] = json!(true);
        }
        let scheme = json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}});
        let required = json!({"schemes": {"token": {"list": []}}});
        protect(
            traits.credentials,
            &mut card,
            "securityRequirements",
            &scheme,
            &required,
        );
    } else {
        card["protocolVersion"] = json!("0.3.0");
        card["url"] = json!(urls[0].1);
        card["preferredTransport"] = json!(binding(urls[0].0));
        let interfaces = urls.iter();
        let interfaces =
            interfaces.map(|(name, url)| json!({"url": url, "transport": binding(name)}));
        card["additionalInterfaces"] = interfaces.collect();
        card["supportsAuthenticatedExtendedCard"] = json!(traits.extended_card);
        let scheme = json!({"type": "http", "scheme": "Bearer"});
        protect(
            traits.credentials,
            &mut card,
            "security",
            &scheme,
            &json!({"token": []}),
        );
    }
    card
}

fn protect(
    credentials: Credentials,
    card: &mut Value,
    name: &str,
    scheme: &Value,
    required: &Value,
) {
    if credentials == Credentials::None {
        return;
    }
    card["securitySchemes"] = json!({ "token": scheme });
    card[name] = match credentials {
        Credentials::Optional => json!([required, {}]),
        _ => json!([required]),
    };
}
