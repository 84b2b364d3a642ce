//! Webhooks, delivered to real receivers on the loopback interface.

mod failure;
mod guarded;
mod order;
mod receiver;
mod scene;
