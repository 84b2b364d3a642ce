//! Our .proto files say what those of the official SDKs say: packages, names, numbers, types, labels, oneofs, JSON names,
//! services.
//!
//! Needs interpreters that have the SDKs, so these run only when asked for:
//! `PEER_PYTHON_1_0=… PEER_PYTHON_0_3=… cargo nextest run -p switchboard-proto --run-ignored only`.

#![expect(clippy::expect_used, reason = "what cannot be compared is a failure")]

use std::path::Path;
use std::process::Command;

use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    FileDescriptorSet,
};

/// What 0.3 got after the Python SDKs took their copy. Readers skip what they do not know.
const LATER: [&str; 2] = [
    "only ours: field a2a.v1.AgentCapabilities 4 state_transition_history optional bool oneof=- \
     json=stateTransitionHistory",
    "only ours: field a2a.v1.Message 8 reference_task_ids repeated string oneof=- json=referenceTaskIds",
];

#[test]
#[ignore = "needs the Python SDK 1.3.0: PEER_PYTHON_1_0 names its interpreter"]
fn the_package_of_1_0_is_that_of_the_python_sdk() {
    let theirs = theirs("PEER_PYTHON_1_0", "a2a.types.a2a_pb2");
    assert_eq!(
        differences(&ours("lf.a2a.v1"), &theirs),
        Vec::<String>::new()
    );
}

#[test]
#[ignore = "needs the Python SDK 1.3.0: PEER_PYTHON_1_0 names its interpreter"]
fn the_package_of_0_3_is_that_of_the_python_sdk_for_1_0() {
    let theirs = theirs("PEER_PYTHON_1_0", "a2a.compat.v0_3.a2a_v0_3_pb2");
    assert_eq!(differences(&ours("a2a.v1"), &theirs), LATER);
}

#[test]
#[ignore = "needs the Python SDK 0.3.26: PEER_PYTHON_0_3 names its interpreter"]
fn the_package_of_0_3_is_that_of_the_python_sdk_for_0_3() {
    let theirs = theirs("PEER_PYTHON_0_3", "a2a.grpc.a2a_pb2");
    assert_eq!(differences(&ours("a2a.v1"), &theirs), LATER);
}

/// What a module of an SDK says, as `conformance/peers/descriptors.py` prints it.
fn theirs(interpreter: &str, module: &str) -> Vec<String> {
    let python = std::env::var_os(interpreter).unwrap_or_else(|| panic!("{interpreter} is unset"));
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/peers/descriptors.py");
    let output = Command::new(python).arg(script).arg(module).output();
    let output = output.expect("an interpreter");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

/// What one of our packages says, in the same words.
fn ours(package: &str) -> Vec<String> {
    let all = FileDescriptorSet::decode(switchboard_proto::DESCRIPTORS).expect("descriptors");
    let file = all.file.iter().find(|file| file.package() == package);
    let mut lines = file_lines(file.expect("a package"));
    lines.sort();
    lines
}

fn differences(ours: &[String], theirs: &[String]) -> Vec<String> {
    let only = |side: &[String], other: &[String], sign: &str| -> Vec<String> {
        let missing = side.iter().filter(|line| !other.contains(line));
        missing.map(|line| format!("{sign} {line}")).collect()
    };
    let mut found = only(ours, theirs, "only ours:");
    found.extend(only(theirs, ours, "only theirs:"));
    found
}

fn file_lines(file: &FileDescriptorProto) -> Vec<String> {
    let mut lines = Vec::new();
    for message in &file.message_type {
        message_lines(file.package(), message, &mut lines);
    }
    for one in &file.enum_type {
        enum_lines(file.package(), one, &mut lines);
    }
    for service in &file.service {
        for rpc in &service.method {
            let stream = |on: bool| if on { "stream " } else { "" };
            lines.push(format!(
                "rpc {}.{}.{} {}{} -> {}{}",
                file.package(),
                service.name(),
                rpc.name(),
                stream(rpc.client_streaming()),
                rpc.input_type().trim_start_matches('.'),
                stream(rpc.server_streaming()),
                rpc.output_type().trim_start_matches('.'),
            ));
        }
    }
    lines
}

fn message_lines(prefix: &str, message: &DescriptorProto, lines: &mut Vec<String>) {
    let name = format!("{prefix}.{}", message.name());
    lines.push(format!("message {name}"));
    for field in &message.field {
        let oneof = match field.oneof_index {
            Some(index) if !field.proto3_optional() => {
                let index = usize::try_from(index).expect("an index");
                message.oneof_decl[index].name()
            }
            _ => "-",
        };
        lines.push(format!(
            "field {name} {} {} {} {} oneof={oneof} json={}",
            field.number(),
            field.name(),
            label_of(field),
            type_of(field),
            field.json_name(),
        ));
    }
    for inner in &message.nested_type {
        message_lines(&name, inner, lines);
    }
    for one in &message.enum_type {
        enum_lines(&name, one, lines);
    }
}

fn enum_lines(prefix: &str, one: &EnumDescriptorProto, lines: &mut Vec<String>) {
    for value in &one.value {
        lines.push(format!(
            "value {prefix}.{} {} {}",
            one.name(),
            value.number(),
            value.name()
        ));
    }
}

fn label_of(field: &FieldDescriptorProto) -> &'static str {
    match field.label() {
        _ if field.proto3_optional() => "explicit",
        Label::Optional => "optional",
        Label::Required => "required",
        Label::Repeated => "repeated",
    }
}

fn type_of(field: &FieldDescriptorProto) -> String {
    match field.r#type() {
        Type::Message | Type::Enum => field.type_name().trim_start_matches('.').to_owned(),
        scalar => scalar
            .as_str_name()
            .trim_start_matches("TYPE_")
            .to_lowercase(),
    }
}
