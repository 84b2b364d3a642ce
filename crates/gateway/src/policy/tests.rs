//! Rules, asked as the server asks them.
