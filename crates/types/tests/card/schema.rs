//! The keys each version allows in a card, and those it
//! requires. Used by the card tests.

use serde_json::Value;

/// An object type: its name and its members. A member is `name`, with `!` if required, then after
/// a colon what it holds: a type, `[type]`, `{type}` for a map, or nothing for a leaf.
pub(crate) type Schema = &'static [(&'static str, &'static str)];

pub(crate) const V1: Schema = &[
    (
        "Card",
        "name! description! supportedInterfaces!:[Interface] provider:Provider version! \
         documentationUrl capabilities!:Capabilities securitySchemes:{Scheme} \
         securityRequirements:[Requirement] defaultInputModes! defaultOutputModes! \
         skills!:[Skill] signatures:[Signature] iconUrl",
    ),
    ("Interface", "url! protocolBinding! tenant protocolVersion!"),
    ("Provider", "url! organization!"),
    (
        "Capabilities",
        "streaming pushNotifications extensions:[Extension] extendedAgentCard",
    ),
    ("Extension", "uri description required params"),
    (
        "Skill",
        "id! name! description! tags! examples inputModes outputModes \
         securityRequirements:[Requirement]",
    ),
    ("Signature", "protected! signature! header"),
    ("Requirement", "schemes:{List}"),
    ("List", "list"),
    (
        "Scheme",
        "apiKeySecurityScheme:ApiKey httpAuthSecurityScheme:Http oauth2SecurityScheme:OAuth2 \
         openIdConnectSecurityScheme:OpenId mtlsSecurityScheme:Mtls",
    ),
    ("ApiKey", "description location! name!"),
    ("Http", "description scheme! bearerFormat"),
    ("OAuth2", "description flows!:Flows oauth2MetadataUrl"),
    ("OpenId", "description openIdConnectUrl!"),
    ("Mtls", "description"),
    (
        "Flows",
        "authorizationCode:Code clientCredentials:Client implicit:Implicit password:Password \
         deviceCode:Device",
    ),
    (
        "Code",
        "authorizationUrl! tokenUrl! refreshUrl scopes! pkceRequired",
    ),
    ("Client", "tokenUrl! refreshUrl scopes!"),
    ("Implicit", "authorizationUrl refreshUrl scopes"),
    ("Password", "tokenUrl refreshUrl scopes"),
    (
        "Device",
        "deviceAuthorizationUrl! tokenUrl! refreshUrl scopes!",
    ),
];

pub(crate) const V0: Schema = &[
    (
        "Card",
        "protocolVersion! name! description! url! preferredTransport \
         additionalInterfaces:[Interface] provider:Provider version! documentationUrl iconUrl \
         capabilities!:Capabilities securitySchemes:{Scheme} security defaultInputModes! \
         defaultOutputModes! skills!:[Skill] supportsAuthenticatedExtendedCard \
         signatures:[Signature]",
    ),
    ("Interface", "url! transport!"),
    ("Provider", "organization! url!"),
    (
        "Capabilities",
        "streaming pushNotifications stateTransitionHistory extensions:[Extension]",
    ),
    ("Extension", "uri description required params"),
    (
        "Skill",
        "id! name! description! tags! examples inputModes outputModes security",
    ),
    ("Signature", "protected! signature! header"),
    (
        "Scheme",
        "type! in name scheme bearerFormat flows:Flows oauth2MetadataUrl openIdConnectUrl \
         description",
    ),
    (
        "Flows",
        "authorizationCode:Code clientCredentials:Client implicit:Implicit password:Client",
    ),
    ("Code", "authorizationUrl! tokenUrl! scopes! refreshUrl"),
    ("Client", "tokenUrl! scopes! refreshUrl"),
    ("Implicit", "authorizationUrl! scopes! refreshUrl"),
];

/// Panics unless `card` has exactly the keys the schema knows, and all it requires.
pub(crate) fn check(schema: Schema, card: &Value) {
    object(schema, "Card", card);
}

fn object(schema: Schema, name: &str, value: &Value) {
    let (_, members) = schema.iter().find(|(of, _)| *of == name).unwrap();
    let members: Vec<(&str, bool, &str)> = members
        .split_whitespace()
        .map(|member| {
            let (key, holds) = member.split_once(':').unwrap_or((member, ""));
            (key.trim_end_matches('!'), key.ends_with('!'), holds)
        })
        .collect();
    let map = value.as_object().unwrap();
    for (key, required, _) in &members {
        assert!(!required || map.contains_key(*key), "{name} lacks {key}");
    }
    for (key, inner) in map {
        let Some((_, _, holds)) = members.iter().find(|(known, ..)| known == key) else {
            panic!("{name} has a foreign key: {key}");
        };
        let kind = holds.trim_matches(['[', ']', '{', '}']);
        match holds.chars().next() {
            None => {}
            Some('[') => {
                let items = inner.as_array().unwrap();
                items.iter().for_each(|item| object(schema, kind, item));
            }
            Some('{') => {
                let items = inner.as_object().unwrap();
                items.values().for_each(|item| object(schema, kind, item));
            }
            Some(_) => object(schema, kind, inner),
        }
    }
}

/// Whether every member of `part` is in `whole`, at any depth of objects and lists.
pub(crate) fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(key, part)| whole.get(key).is_some_and(|whole| contains(whole, part))),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(w, p)| contains(w, p))
        }
        _ => whole == part,
    }
}
