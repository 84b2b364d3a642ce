//! Webhooks, delivered to real receivers on the loopback interface.

#[cfg(all(test, feature = "sqlite"))]
mod disk;
#[cfg(test)]
mod failure;
#[cfg(test)]
mod fairness;
#[cfg(test)]
mod guarded;
#[cfg(test)]
mod order;
#[cfg(test)]
mod rebinding;
#[cfg(test)]
mod receiver;
#[cfg(test)]
mod scene;
#[cfg(test)]
mod signed;
