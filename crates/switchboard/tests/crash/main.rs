//! The crash harness: clients keep sending, streaming and coming back while the server is killed with -9 and
//! started again; afterwards all that was told must be true.
//!
//! Who does what: [`server`] is the process, [`killer`] kills it, [`jobs`] are the clients, [`reader`] follows
//! streams across cuts, [`receiver`] takes webhooks, [`world`] holds what was promised, [`verify`] compares it
//! with what is there. `bench/crash` runs the same for longer.
#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on says why and stops"
)]

mod jobs;
mod killer;
mod plan;
mod reader;
mod receiver;
mod server;
mod verify;
mod wire;
mod world;

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::Instant;

use jobs::{Client, Kind};
use killer::Killer;
use plan::{Dice, Plan};
use receiver::Receiver;
use server::Server;
use world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_told_is_still_true_after_every_kill() {
    let plan = Plan::from_env();
    let began = Instant::now();
    let mut background = JoinSet::new();
    let receiver = Receiver::start(Dice::new(plan.seed, 1), &mut background).await;
    let mut server = Server::new(&mut Dice::new(plan.seed, 2), receiver.port());
    let world = Arc::new(World::new(server.base(), receiver));
    let kills = crash(&plan, &world, &mut server).await;
    let faults = {
        let mut ledger = world.ledger();
        ledger.faults.extend(world.receiver.faults());
        ledger.faults.extend(server.complaints());
        ledger.faults.clone()
    };
    let summary = summary(&world, &server, kills);
    eprintln!("{summary}, {:.1} s", began.elapsed().as_secs_f64());
    server.kill().await;
    if !faults.is_empty() {
        let shown = faults.iter().take(12).cloned().collect::<Vec<_>>();
        panic!(
            "{} faults with SWITCHBOARD_CRASH_SEED={} (data and logs are in {}):\n{}",
            faults.len(),
            plan.seed,
            server.keep().display(),
            shown.join("\n")
        );
    }
}

/// Runs everything; faults are in the ledger. Tells how often the server was killed.
async fn crash(plan: &Plan, world: &Arc<World>, server: &mut Server) -> u32 {
    let mut clients = JoinSet::new();
    for number in 0..plan.crowd {
        for kind in Kind::ALL {
            let thrower = 100 + number * 100 + u64::try_from(clients.len()).expect("a few");
            let dice = Dice::new(plan.seed, thrower);
            clients.spawn(Client::new(Arc::clone(world), kind, number, dice).work());
        }
    }
    let mut killer = Killer::new(world, server, Dice::new(plan.seed, 3));
    if let Err(fault) = killer.rage(plan).await {
        world.fault(fault);
    }
    let kills = killer.kills;
    world.stop();
    world.receiver.calm_down();
    if !world.ledger().faults.is_empty() {
        clients.shutdown().await;
        return kills;
    }
    while let Some(ended) = clients.join_next().await {
        ended.expect("a client that does not panic");
    }
    let faults = verify::all(world).await;
    world.ledger().faults.extend(faults);
    kills
}

fn summary(world: &World, server: &Server, kills: u32) -> String {
    let ledger = world.ledger();
    let events: usize = ledger.tales.iter().map(|tale| tale.events.len()).sum();
    let (taken, repeated, refused) = world.receiver.counts();
    format!(
        "{kills} kills, {} starts; {} tasks promised, {} streams with {events} events, {} cuts; \
         {taken} webhook calls taken, {repeated} of them again, {refused} refused; {} faults",
        server.starts(),
        ledger.promises.len(),
        ledger.tales.len(),
        ledger.cuts,
        ledger.faults.len(),
    )
}
