//! Webhooks, and which of them may have something left to deliver.

use switchboard_types::model::{PushConfigId, TaskId};

use super::Kept;
use crate::task::{Delivery, Webhook};

impl Kept {
    pub(super) fn webhooks_of(&self, task: &TaskId) -> &[Webhook] {
        self.webhooks.get(task).map_or(&[], Vec::as_slice)
    }

    pub(super) fn webhook(&self, (task, id): &(TaskId, PushConfigId)) -> Option<&Webhook> {
        self.webhooks_of(task)
            .iter()
            .find(|webhook| webhook.id == *id)
    }

    /// Whether a webhook has events left to deliver.
    pub(super) fn has_left(&self, webhook: &Webhook) -> bool {
        let task = self.tasks.get(&webhook.task);
        task.is_some_and(|task| webhook.delivery.delivered < task.head.seq)
    }

    pub(super) fn put_webhook(&mut self, webhook: Webhook) {
        self.settle(&webhook);
        let webhooks = self.webhooks.entry(webhook.task.clone()).or_default();
        match webhooks.iter_mut().find(|old| old.id == webhook.id) {
            Some(old) => *old = webhook,
            None => webhooks.push(webhook),
        }
    }

    pub(super) fn delete_webhook(&mut self, task: &TaskId, id: &PushConfigId) {
        if let Some(webhooks) = self.webhooks.get_mut(task) {
            for webhook in webhooks.extract_if(.., |webhook| webhook.id == *id) {
                self.index.set_open(&webhook, false);
            }
            if webhooks.is_empty() {
                self.webhooks.remove(task);
            }
        }
    }

    pub(super) fn delivery(&mut self, task: &TaskId, id: &PushConfigId, delivery: Delivery) {
        let webhooks = self.webhooks.get_mut(task);
        let found = webhooks.and_then(|webhooks| webhooks.iter_mut().find(|w| w.id == *id));
        if let Some(webhook) = found {
            webhook.delivery = delivery;
            let webhook = webhook.clone();
            self.settle(&webhook);
        }
    }

    /// Notes whether a webhook can still have something to deliver.
    fn settle(&mut self, webhook: &Webhook) {
        let task = self.tasks.get(&webhook.task);
        let over = task.is_some_and(|task| task.head.state.is_terminal());
        let open = !over || self.has_left(webhook);
        self.index.set_open(webhook, open);
    }
}
