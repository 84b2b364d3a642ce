//! Skills that are not everyone's: who may ask for them, and on whose card they stand.

use std::sync::Arc;

use prost_types::value::Kind;
use serde_json::{Value, json};
use switchboard_proto::{v0_3, v1_0};
use switchboard_server::agent::{Agent, AgentError, Outcome, Router, Said};
use switchboard_server::auth::{
    Access, Alternative, Ask, Authenticator, Denial, Policy, Scheme, SkillAccess, Verdict,
};
use switchboard_server::authorize::Authorized;
use switchboard_server::call::{Call, Handler, Origin, ServiceParams, Target};
use switchboard_server::egress::Guard;
use switchboard_server::engine::{Engine, Parts, Settings};
use switchboard_server::log::Log;
use switchboard_server::principal::Principal;
use switchboard_server::shutdown::Tasks;
use switchboard_server::store::MemoryStore;
use switchboard_server::testing::agent::{FnAgent, owner, profile, says, send};
use switchboard_types::ErrorKind;
use switchboard_types::model::Object;
use switchboard_types::operation::{Operation, SendMessage};

use crate::house::{Books, House, open, serve};
use crate::schemes::Bearer;
use crate::wire::{Answer, WAYS, Way, bearer};

impl House {
    /// Sends a message by one of the ways, for that skill if one is named.
    async fn use_skill(&self, way: Way, token: &str, skill: Option<&str>) -> Answer {
        let mut headers = bearer(token);
        let metadata = skill.map(|skill| json!({"skillId": skill}));
        let metadata = metadata.unwrap_or_else(|| json!({}));
        let new = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]});
        let new = json!({"message": new, "metadata": metadata});
        let old = json!({"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "x"}],
            "metadata": metadata});
        let call = |method: &str, params: Value| {
            json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
        };
        let version = ("a2a-version", "1.0".to_owned());
        match way {
            Way::Rpc10 => {
                headers.push(version);
                let call = call("SendMessage", new);
                self.ask("POST", "/a2a/guild", &headers, call).await
            }
            Way::Rpc03 => {
                let call = call("message/send", json!({"message": old}));
                self.ask("POST", "/a2a/guild", &headers, call).await
            }
            Way::Rest10 => {
                headers.push(version);
                let path = "/a2a/guild/message:send";
                self.ask("POST", path, &headers, new.to_string()).await
            }
            Way::Rest03 => {
                let message =
                    json!({"messageId": "m", "role": "ROLE_USER", "content": [{"text": "x"}]});
                let body = json!({"message": message, "metadata": metadata}).to_string();
                let path = "/a2a/guild/v1/message:send";
                self.ask("POST", path, &headers, body).await
            }
            Way::Grpc10 => {
                let send = v1_0::SendMessageRequest {
                    message: Some(v1_0::Message {
                        message_id: "m".to_owned(),
                        role: v1_0::Role::User.into(),
                        parts: vec![v1_0::Part {
                            content: Some(v1_0::part::Content::Text("x".to_owned())),
                            ..Default::default()
                        }],
                        ..Default::default()
                    }),
                    metadata: skill.map(structured),
                    ..Default::default()
                };
                let path = "/lf.a2a.v1.A2AService/SendMessage";
                self.rpc_of(path, "guild", headers, &send).await
            }
            Way::Grpc03 => {
                let send = v0_3::SendMessageRequest {
                    request: Some(v0_3::Message {
                        message_id: "m".to_owned(),
                        role: v0_3::Role::User.into(),
                        content: vec![v0_3::Part {
                            part: Some(v0_3::part::Part::Text("x".to_owned())),
                            ..Default::default()
                        }],
                        ..Default::default()
                    }),
                    metadata: skill.map(structured),
                    ..Default::default()
                };
                let path = "/a2a.v1.A2AService/SendMessage";
                self.rpc_of(path, "guild", headers, &send).await
            }
        }
    }

    async fn skills(&self, token: &str) -> (Vec<String>, Answer) {
        let path = "/a2a/guild/.well-known/agent-card.json";
        let answer = self.ask("GET", path, &bearer(token), "").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        (names(&answer.json()), answer)
    }
}

fn structured(skill: &str) -> prost_types::Struct {
    let value = prost_types::Value {
        kind: Some(Kind::StringValue(skill.to_owned())),
    };
    prost_types::Struct {
        fields: [("skillId".to_owned(), value)].into(),
    }
}

fn names(card: &Value) -> Vec<String> {
    let skills = card["skills"].as_array().unwrap().iter();
    let names = skills.map(|skill| skill["id"].as_str().unwrap().to_owned());
    names.collect()
}

#[tokio::test]
async fn a_refused_skill_is_forbidden_by_name_and_by_every_binding() {
    let house = open(&["guild"]).await;
    for way in WAYS {
        for token in ["", "ann"] {
            let answer = house.use_skill(way, token, Some("gild")).await;
            way.expect(&answer, 403, 7, true);
            let error = answer.error();
            let told = "Insufficient permissions for skill 'gild'";
            assert!(error.contains(told), "{way:?}: {error}");
            assert!(error.contains("PERMISSION_DENIED"), "{way:?}: {error}");
            // What stands on no public card is not told from what is not there.
            assert_eq!(answer.challenges(), [""; 0], "{way:?}");
            let absent = house.use_skill(way, token, Some("fly?")).await;
            assert_eq!((absent.status, absent.code), (answer.status, answer.code));
            let like = |text: String| text.replace("fly?", "gild");
            assert_eq!(like(absent.error()), error, "{way:?}");
            let answer = house.use_skill(way, token, Some("show")).await;
            way.expect(&answer, 403, 7, true);
            let challenge =
                "Bearer realm=\"switchboard\", error=\"insufficient_scope\", scope=\"read\"";
            assert_eq!(answer.challenges(), [challenge], "{way:?}");
        }
        let code = match way {
            Way::Rpc10 => -32055,
            Way::Rpc03 => -32603,
            _ => continue,
        };
        let answer = house.use_skill(way, "ann", Some("gild")).await;
        assert_eq!(answer.json()["error"]["code"], code);
        assert_eq!(answer.status, 403);
    }
}

#[tokio::test]
async fn a_skill_is_for_who_was_granted_it() {
    let house = open(&["guild"]).await;
    for way in WAYS {
        for (token, skill) in [
            ("", "carve"),
            ("ann", "carve"),
            ("maker", "carve"),
            ("maker", "gild"),
        ] {
            let answer = house.use_skill(way, token, Some(skill)).await;
            assert_eq!(answer.status, 200, "{way:?} {token} {skill}: {answer:?}");
            let went_on = match way {
                Way::Grpc10 | Way::Grpc03 => answer.code == Some(0),
                _ => !answer.error().contains("\"error\""),
            };
            assert!(went_on, "{way:?} {token} {skill}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn who_may_not_use_all_skills_names_one() {
    let house = open(&["guild"]).await;
    for way in WAYS {
        let answer = house.use_skill(way, "ann", None).await;
        way.expect(&answer, 403, 7, true);
        assert!(answer.error().contains("metadata.skillId"), "{way:?}");
        let answer = house.use_skill(way, "maker", None).await;
        assert_eq!(answer.status, 200, "{way:?}: {answer:?}");
    }
    let answer = house.use_skill(Way::Rpc10, "maker", Some("fly")).await;
    assert_eq!(answer.json()["error"]["code"], -32602, "{answer:?}");
}

#[tokio::test]
async fn a_message_goes_on_with_the_skill_of_its_task_if_that_is_the_callers() {
    let house = open(&["guild"]).await;
    let answer = house.use_skill(Way::Rpc10, "ann", Some("carve")).await;
    let task = answer.json()["result"]["task"]["id"].clone();
    let more = |task: &Value| {
        json!({"message": {"messageId": "n", "role": "ROLE_USER", "taskId": task,
            "parts": [{"text": "y"}]}})
    };
    // It gets past the rules: the task is over, says the engine.
    let own = house
        .rpc("/a2a/guild", "ann", "SendMessage", more(&task))
        .await;
    assert_eq!(own.json()["error"]["code"], -32004, "{own:?}");
    let absent = Value::from("0".repeat(task.as_str().unwrap().len()));
    for id in [&task, &absent] {
        let foreign = house
            .rpc("/a2a/guild", "bob", "SendMessage", more(id))
            .await;
        assert_eq!(foreign.json()["error"]["code"], -32001, "{foreign:?}");
    }
}

#[tokio::test]
async fn a_card_shows_what_its_reader_may_use() {
    let house = open(&["guild"]).await;
    for (token, skills, cached) in [
        ("", &["carve", "show"][..], "public, max-age=60"),
        ("wrong", &["carve", "show"], "public, max-age=60"),
        ("ann", &["carve"], "private, max-age=60"),
        ("maker", &["carve", "gild", "show"], "private, max-age=60"),
    ] {
        let (shown, answer) = house.skills(token).await;
        assert_eq!(shown, skills, "{token}");
        assert_eq!(answer.header("cache-control"), Some(cached), "{token}");
        let vary = "A2A-Version, Host, Authorization, X-API-Key, Cookie";
        assert_eq!(answer.header("vary"), Some(vary), "{token}");
    }
    let (_, answer) = house.skills("maker").await;
    let card = answer.json();
    assert_eq!(card["skills"][0].get("securityRequirements"), None);
    assert_eq!(
        card["skills"][1]["securityRequirements"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert!(card["skills"][1].to_string().contains("\"read\""), "{card}");
}

#[tokio::test]
async fn the_extended_card_is_for_who_is_known_in_every_version() {
    let house = open(&["guild"]).await;
    for (path, version) in [
        ("/a2a/guild/v1/card", "0.3"),
        ("/a2a/guild/extendedAgentCard", "1.0"),
        ("/a2a/guild/agent/authenticatedExtendedCard", "0.2"),
    ] {
        let with = |token: &str| {
            let mut headers = bearer(token);
            headers.push(("a2a-version", version.to_owned()));
            headers
        };
        let refused = house.ask("GET", path, &with(""), "").await;
        assert_eq!(refused.status, 401, "{path}: {refused:?}");
        assert_eq!(
            refused.challenges(),
            ["Bearer realm=\"http://here\""],
            "{path}"
        );
        for (token, skills) in [
            ("ann", &["carve"][..]),
            ("maker", &["carve", "gild", "show"]),
        ] {
            let shown = house.ask("GET", path, &with(token), "").await;
            assert_eq!(shown.status, 200, "{path}: {shown:?}");
            assert_eq!(names(&shown.json()), skills, "{path} {token}");
            assert_eq!(shown.header("cache-control"), Some("private, max-age=60"));
        }
    }
    for (method, version) in [
        ("GetExtendedAgentCard", "1.0"),
        ("agent/getAuthenticatedExtendedCard", "0.3"),
    ] {
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {}});
        let version = [("a2a-version", version.to_owned())];
        let refused = house.ask("POST", "/a2a/guild", &version, call.to_string());
        let refused = refused.await;
        assert_eq!(refused.status, 401, "{method}: {refused:?}");
        assert_eq!(refused.challenges().len(), 1, "{method}");
    }
}

#[tokio::test]
async fn where_nobody_can_show_who_they_are_the_extended_card_is_forbidden() {
    let house = open(&["hall"]).await;
    for (path, version) in [
        ("/a2a/hall/v1/card", "0.3"),
        ("/a2a/hall/extendedAgentCard", "1.0"),
    ] {
        let headers = [("a2a-version", version.to_owned())];
        let refused = house.ask("GET", path, &headers, "").await;
        assert_eq!(refused.status, 403, "{path}: {refused:?}");
        assert!(refused.challenges().is_empty());
    }
}

/// Says by name that it refuses every skill but one.
#[derive(Debug)]
struct OnlyCarving;

impl Policy for OnlyCarving {
    fn decide(&self, ask: &Ask<'_>) -> Verdict {
        match ask.skill {
            None | Some("carve") => Verdict::Allow,
            Some(_) => Verdict::Deny(Denial {
                tell: true,
                ..Denial::by("only-carving", "no")
            }),
        }
    }

    fn restricts(&self, skill: &str) -> bool {
        skill != "carve"
    }
}

#[tokio::test]
async fn a_rule_that_tells_its_name_does_not_tell_which_skills_there_are() {
    let bearer: Arc<dyn Scheme> = Arc::new(Bearer("bearer".into()));
    let skill = |id: &str| SkillAccess {
        id: id.into(),
        scopes: Vec::new(),
        listed: false,
    };
    let access = Access::by(vec![Alternative(vec![Arc::clone(&bearer)])])
        .with_skills(vec![skill("carve"), skill("gild")])
        .ruled_by(Arc::new(OnlyCarving));
    let tasks = Tasks::default();
    let house = serve(
        vec![("guild".into(), access)],
        Authenticator::new(vec![bearer]),
        Books::unread(&tasks),
        tasks,
    )
    .await;
    for way in WAYS {
        let taken = house.use_skill(way, "ann", Some("carve")).await;
        way.expect(&taken, 200, 0, false);
        let kept = house.use_skill(way, "ann", Some("gild")).await;
        way.expect(&kept, 403, 7, true);
        let absent = house.use_skill(way, "ann", Some("weld")).await;
        let renamed = absent.error().replace("weld", "gild");
        assert_eq!(renamed, kept.error(), "{way:?}");
    }
}

/// Rules that look at what a message says, and decide nothing.
#[derive(Debug)]
struct Undecided;

impl Router for Undecided {
    fn reads_messages(&self) -> bool {
        true
    }

    fn decide(&self, _: &SendMessage, _: &Principal) -> Option<Value> {
        None
    }

    fn agent(&self, _: &Value) -> Result<Arc<dyn Agent>, AgentError> {
        Err(AgentError::new("nothing was decided"))
    }
}

#[tokio::test]
async fn two_skills_are_refused_before_rules_that_everyone_may_reach() {
    let named = |skill: &str| json!({"skillId": skill}).as_object().map(Object::from);
    for (has_rules, skill, is_refused) in [
        (true, "cheap", false),
        (true, "admin", true),
        (false, "admin", false),
    ] {
        let log = Log::new(Arc::new(MemoryStore::new()));
        let agent = FnAgent::new(|_, _| async { Ok(Outcome::Completed(Said::default())) });
        let engine = Engine::new(Parts {
            name: Arc::from("agent"),
            agent: Arc::new(agent),
            router: has_rules.then(|| Arc::new(Undecided) as _),
            profile: profile(),
            settings: Settings::default(),
            log: log.clone(),
            guard: Arc::new(Guard::new(Vec::new())),
            tasks: Tasks::default(),
        });
        let door = Authorized::new(engine, Arc::new(Access::open()));
        let mut send = send(says("x"));
        send.metadata = named("cheap");
        send.message.metadata = named(skill);
        let call = Call {
            operation: Operation::Send(Box::new(send)),
            target: Target::default(),
            principal: Principal::from(owner()),
            params: ServiceParams::internal(),
            origin: Origin::Network,
        };
        let refused = door.handle(call).await.err();
        assert_eq!(refused.is_some(), is_refused, "{skill}: {refused:?}");
        if let Some(error) = refused {
            assert_eq!(error.kind(), ErrorKind::InvalidParams);
        }
    }
}
