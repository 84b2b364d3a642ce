//! Keys that come to their end, and what ends with them.

use super::*;

#[tokio::test]
async fn the_streams_of_a_key_end_with_it() {
    let elsewhere = MemoryAccess::new();
    let (record, key) = make(&elsewhere, opens(&["stall"])).await;
    let house = open_with(&["stall"], Arc::new(MemoryAccess::new())).await;
    let record = KeyRecord {
        expires: Some(Timestamp::from_micros(clock::now().as_micros() + 2_000_000)),
        ..record
    };
    let noted = AuditEntry::new(What::KeyCreated, "operator");
    house.access.put_key(record, noted).await.unwrap();
    let params =
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}});
    let stream = house.rpc("/a2a/stall", &key, "SendStreamingMessage", params);
    let stream = timeout(SOON, stream).await.unwrap();
    assert_eq!(stream.status, 200, "{stream:?}");
    let events = String::from_utf8_lossy(&stream.body);
    assert!(events.contains("TASK_STATE_"), "{events}");
    assert_eq!(house.knock("stall", &header(&key)).await.status, 401);
}

#[tokio::test]
async fn a_key_ends_when_it_was_said_to() {
    let elsewhere = MemoryAccess::new();
    let (record, key) = make(&elsewhere, opens(&["shop"])).await;
    let house = open_with(&["shop"], Arc::new(MemoryAccess::new())).await;
    let record = KeyRecord {
        expires: Some(clock::now()),
        ..record
    };
    let noted = AuditEntry::new(What::KeyCreated, "operator");
    house.access.put_key(record, noted).await.unwrap();
    eventually("the reason", async || {
        let refused = house.knock("shop", &header(&key)).await;
        assert_eq!(refused.status, 401, "{refused:?}");
        refused.error().contains("the credentials have expired")
    })
    .await;
}

#[tokio::test]
async fn the_streams_of_a_revoked_key_end() {
    let dir = tempfile::tempdir().unwrap();
    let ours = SqliteAccess::open(dir.path()).unwrap();
    let house = open_with(&["stall"], Arc::new(ours)).await;
    let (record, key) = make(&*house.access, opens(&["stall"])).await;
    house.becomes("stall", &key, 404).await;
    let params =
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}});
    let stream = house.rpc("/a2a/stall", &key, "SendStreamingMessage", params);
    let taken_back = async {
        let tasks = async || {
            let listed = house.rpc("/a2a/stall", &key, "ListTasks", json!({})).await;
            listed.json()["result"]["totalSize"].as_u64()
        };
        eventually("the task", async || tasks().await == Some(1)).await;
        let by = By::here("operator");
        assert!(revoke(&*house.access, &record.id, &by).await.unwrap());
    };
    let both = timeout(SOON, async { tokio::join!(stream, taken_back) });
    let (stream, ()) = both.await.unwrap();
    assert_eq!(stream.status, 200, "{stream:?}");
    let events = String::from_utf8_lossy(&stream.body);
    assert!(events.contains("TASK_STATE_"), "{events}");
    assert!(!events.contains("TASK_STATE_COMPLETED"), "{events}");
}

#[tokio::test]
async fn who_waits_for_an_answer_does_not_get_it_once_its_key_is_revoked() {
    let house = open(&["stall"]).await;
    let (record, key) = make(&*house.access, opens(&["stall"])).await;
    house.becomes("stall", &key, 404).await;
    let params =
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}});
    let answer = house.rpc("/a2a/stall", &key, "SendMessage", params);
    let taken_back = async {
        let task = eventually("the task", async || {
            let listed = house.rpc("/a2a/stall", &key, "ListTasks", json!({})).await;
            let id = &listed.json()["result"]["tasks"][0]["id"];
            id.as_str().map(str::to_owned)
        })
        .await;
        let by = By::here("operator");
        assert!(revoke(&*house.access, &record.id, &by).await.unwrap());
        house.becomes("stall", &key, 401).await;
        // Its task comes to an end all the same.
        house.end("stall", &record, &task).await;
    };
    let both = timeout(SOON, async { tokio::join!(answer, taken_back) });
    let (answer, ()) = both.await.unwrap();
    assert_eq!(answer.status, 401, "{answer:?}");
    assert!(!answer.error().contains("TASK_STATE_"), "{answer:?}");
}

impl House {
    /// Cancels a task of that key's, from inside.
    async fn end(&self, agent: &str, record: &KeyRecord, task: &str) {
        let cancel = CancelTask {
            id: TaskId::new(task).unwrap(),
            metadata: None,
        };
        let call = Call {
            operation: Operation::Cancel(cancel),
            target: Target {
                agent: Some(agent.into()),
                tenant: None,
            },
            principal: Principal::from(Owner::of("key", None, &record.subject)),
            params: ServiceParams::internal(),
            origin: Origin::Network,
        };
        self.table.handle(call).await.unwrap();
    }
}
