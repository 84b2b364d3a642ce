//! Codecs between bytes and the model.
