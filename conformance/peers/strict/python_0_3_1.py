"""Reads ProtoJSON of A2A 0.3 as strictly as the first SDKs did: with the messages of the release, and nothing else.

    python_0_3_1.py FILE

FILE has one document a line: {"message": NAME, "json": …}. Prints what is wrong with each that cannot be read. The
Python SDK 0.3.1 has the .proto file of the release 0.3.0; later ones have fields that it lacks.
"""

import json
import sys

from a2a.grpc import a2a_pb2
from google.protobuf.json_format import ParseDict, ParseError

for line in open(sys.argv[1], encoding="utf-8"):
    document = json.loads(line)
    message = getattr(a2a_pb2, document["message"])()
    try:
        ParseDict(document["json"], message, ignore_unknown_fields=False)
    except ParseError as error:
        print(f"{document['message']}: {error}: {json.dumps(document['json'])}")
