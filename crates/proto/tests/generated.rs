//! What is committed is what the .proto files say.

use std::path::{Path, PathBuf};

use prost::Message;
use prost_types::{DescriptorProto, FileDescriptorSet};

/// Packages, and the modules they are kept in.
const MODULES: [(&str, &str); 5] = [
    ("lf.a2a.v1", "v1_0"),
    ("a2a.v1", "v0_3"),
    ("google.rpc", "rpc"),
    ("grpc.health.v1", "health"),
    ("grpc.reflection.v1", "reflection"),
];

/// Messages of 0.3 that are those of 1.0, as far as 0.3 goes: under the name they have in each.
const SHARED: [(&str, &str); 17] = [
    ("AgentExtension", "AgentExtension"),
    ("AgentProvider", "AgentProvider"),
    ("AgentCardSignature", "AgentCardSignature"),
    ("AgentSkill", "AgentSkill"),
    ("Security", "SecurityRequirement"),
    ("StringList", "StringList"),
    ("SecurityScheme", "SecurityScheme"),
    ("APIKeySecurityScheme", "ApiKeySecurityScheme"),
    ("HTTPAuthSecurityScheme", "HttpAuthSecurityScheme"),
    ("OAuth2SecurityScheme", "OAuth2SecurityScheme"),
    ("OpenIdConnectSecurityScheme", "OpenIdConnectSecurityScheme"),
    ("MutualTlsSecurityScheme", "MutualTlsSecurityScheme"),
    ("OAuthFlows", "OAuthFlows"),
    ("AuthorizationCodeOAuthFlow", "AuthorizationCodeOAuthFlow"),
    ("ClientCredentialsOAuthFlow", "ClientCredentialsOAuthFlow"),
    ("ImplicitOAuthFlow", "ImplicitOAuthFlow"),
    ("PasswordOAuthFlow", "PasswordOAuthFlow"),
];

#[test]
fn the_committed_code_is_what_the_proto_files_say() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut compiler = protox::Compiler::new([here.join("proto")]).expect("a folder");
    let files = MODULES.map(|(_, module)| here.join(format!("proto/{module}.proto")));
    compiler.include_imports(true).include_source_info(false);
    compiler.open_files(files).expect("valid .proto files");
    let descriptors = compiler.file_descriptor_set();
    let bytes = descriptors.encode_to_vec();

    let out = tempfile::tempdir().expect("a folder");
    let mut config = prost_build::Config::new();
    for (old, new) in SHARED {
        config.extern_path(format!(".a2a.v1.{old}"), format!("crate::v1_0::{new}"));
    }
    config
        .out_dir(out.path())
        .bytes(["."])
        .btree_map(["."])
        .compile_fds(descriptors)
        .expect("code");
    let mut stale = Vec::new();
    let mut settle = |file: PathBuf, wanted: &[u8]| {
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&file, wanted).expect("a writable file");
        } else if std::fs::read(&file).ok().as_deref() != Some(wanted) {
            stale.push(file);
        }
    };
    for (package, module) in MODULES {
        let code = std::fs::read_to_string(out.path().join(format!("{package}.rs"))).expect("code");
        let code = format!("//! Generated from `proto/{module}.proto`; do not edit.\n\n{code}");
        settle(here.join(format!("src/{module}.rs")), code.as_bytes());
    }
    settle(here.join("src/descriptors.bin"), &bytes);
    assert!(
        stale.is_empty(),
        "not what the .proto files say (BLESS=1 cargo nextest run -p switchboard-proto): {stale:?}"
    );
}

#[test]
fn shared_messages_say_the_same_under_the_same_numbers() {
    let all = FileDescriptorSet::decode(switchboard_proto::DESCRIPTORS).expect("descriptors");
    let messages = |package: &str| -> Vec<DescriptorProto> {
        let file = all.file.iter().find(|file| file.package() == package);
        file.expect("a package").message_type.clone()
    };
    let (old, new) = (messages("a2a.v1"), messages("lf.a2a.v1"));
    // As 1.0 names it: by case-blind name, since Rust spells abbreviations in its own way.
    let same_type = |old: &str, new: &str| {
        let old = old.trim_start_matches(".a2a.v1.");
        let new = new.trim_start_matches(".lf.a2a.v1.");
        let renamed = SHARED.iter().find(|(name, _)| *name == old);
        renamed.map_or(old, |(_, name)| name).eq_ignore_ascii_case(new)
            // Entries of maps are named within their message.
            || old.rsplit('.').next() == new.rsplit('.').next()
    };
    for (name, renamed) in SHARED {
        let old = old.iter().find(|m| m.name() == name).expect(name);
        let new = new
            .iter()
            .find(|m| m.name().eq_ignore_ascii_case(renamed))
            .expect(renamed);
        for field in &old.field {
            let twin = new.field.iter().find(|f| f.number() == field.number());
            let twin = twin.unwrap_or_else(|| panic!("{renamed} has no {}", field.name()));
            assert_eq!(
                (field.r#type(), field.label()),
                (twin.r#type(), twin.label())
            );
            assert!(
                same_type(field.type_name(), twin.type_name()),
                "{name}.{}",
                field.name()
            );
            assert!(
                twin.name().starts_with(field.name()),
                "{name}.{}",
                field.name()
            );
        }
    }
}
