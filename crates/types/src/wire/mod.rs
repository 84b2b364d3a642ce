//! Codecs between bytes and the model.

pub mod card;
