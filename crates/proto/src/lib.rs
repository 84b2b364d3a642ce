//! A2A over gRPC: the messages of both packages, generated from our own `.proto` files.
