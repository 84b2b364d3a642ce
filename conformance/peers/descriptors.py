"""Prints what a peer's SDK knows of a package: one line per field, enum value and rpc, sorted.

    descriptors.py MODULE...

MODULE is a generated module, such as a2a.types.a2a_pb2. `crates/proto/tests/descriptors.rs` prints the same of our own
.proto files and compares.
"""

import importlib
import sys

from google.protobuf import descriptor_pb2

FIELD = descriptor_pb2.FieldDescriptorProto


def type_of(field):
    if field.type_name:
        return field.type_name.lstrip(".")
    return FIELD.Type.Name(field.type).removeprefix("TYPE_").lower()


def message_lines(prefix, message):
    name = f"{prefix}.{message.name}"
    yield f"message {name}"
    for field in message.field:
        label = FIELD.Label.Name(field.label).removeprefix("LABEL_").lower()
        if field.proto3_optional:
            label = "explicit"
        oneof = "-"
        if field.HasField("oneof_index") and not field.proto3_optional:
            oneof = message.oneof_decl[field.oneof_index].name
        yield (
            f"field {name} {field.number} {field.name} {label} {type_of(field)}"
            f" oneof={oneof} json={field.json_name}"
        )
    for inner in message.nested_type:
        yield from message_lines(name, inner)
    for enum in message.enum_type:
        yield from enum_lines(name, enum)


def enum_lines(prefix, enum):
    for value in enum.value:
        yield f"value {prefix}.{enum.name} {value.number} {value.name}"


def file_lines(file):
    for message in file.message_type:
        yield from message_lines(file.package, message)
    for enum in file.enum_type:
        yield from enum_lines(file.package, enum)
    for service in file.service:
        for rpc in service.method:
            stream = lambda on: "stream " if on else ""
            yield (
                f"rpc {file.package}.{service.name}.{rpc.name}"
                f" {stream(rpc.client_streaming)}{rpc.input_type.lstrip('.')}"
                f" -> {stream(rpc.server_streaming)}{rpc.output_type.lstrip('.')}"
            )


def main():
    lines = []
    for module in sys.argv[1:]:
        file = descriptor_pb2.FileDescriptorProto()
        importlib.import_module(module).DESCRIPTOR.CopyToProto(file)
        lines.extend(file_lines(file))
    print("\n".join(sorted(lines)))


if __name__ == "__main__":
    main()
