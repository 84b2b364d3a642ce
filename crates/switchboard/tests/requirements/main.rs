//! Requirements, shown on the real binary. A test is named for the requirement it shows; docs/requirements.md has
//! all of them.

mod auth;
mod cards;
mod examples;
mod input;
mod limits;
mod methods;
mod policies;
mod push;
mod rest;
mod router;
mod seed_three;
mod seed_three_kept;
mod streams;
mod wire;

/// Agents with one behaviour each.
const AGENTS: &str = r#"
default_agent: quick
push: { allow: ["127.0.0.1"] }
auth:
  methods: { bearer: { jwt: { secret: "${KIT_SECRET}", audience: [kit] } } }
  require: [none]
agents:
  quick:
    description: Answers at once, with an artifact
    script:
      - artifact: { name: joke, text: "Why did the chicken cross the road? To get to the other side!" }
      - complete: "{{text}}"
  greeter:
    reply: message
    script:
      - reply: "hello, {{text}}"
  writer:
    script:
      - chunk: { name: essay, text: "one " }
      - chunk: { name: essay, text: "two " }
      - chunk: { name: essay, text: "three", last: true }
  slow:
    script:
      - say: Processing
      - wait: 60s
  pause:
    script:
      - say: Processing
      - wait: 300ms
      - complete: done
  booking:
    script:
      - choose:
          - when: { turn: 1 }
            do:
              - ask: Where would you like to fly to, and from where?
      - artifact: { name: flight, parts: [{ data: { from: JFK, to: LHR, asked: "{{text}}" } }] }
      - complete: Booked.
  tool:
    script:
      - choose:
          - when: { turn: 1 }
            do:
              - ask:
                  text: Please run the tool
                  input: { prompt: Run it, id: call-1, sensitive: true }
      - complete: "got {{text}}"
  vault:
    script:
      - choose:
          - when: { turn: 1 }
            do:
              - require_auth:
                  text: Sign in first
                  parts: [{ data: { schemes: [Bearer] } }]
      - complete: Signed in.
  remembering:
    script:
      - complete: "{{earlier}} before: {{earlier.text}}"
  copier:
    input_modes: ["*/*"]
    script:
      - artifact: { name: copy, parts: [{ copy: message }] }
  schema:
    script:
      - complete: { parts: [{ text: '[{"open": 3}]', media_type: application/json }] }
  broken:
    script:
      - fail: the printer is on fire
  picky:
    script:
      - reject: Not on my watch
  plain:
    streaming: false
    push_notifications: false
    script:
      - complete: done
  secretive:
    auth: [bearer, none]
    extended_card:
      description: More than meets the eye
      skills: [{ id: hidden, description: Only for friends }]
    script:
      - complete: done
  hasty:
    timeouts: { input: 300ms, blocking: 300ms }
    script:
      - choose:
          - when: { turn: 1 }
            do: [{ ask: Well? }]
  resolute:
    timeouts: { input: 300ms }
    on_input_timeout: continue
    script:
      - choose:
          - when: { timed_out: true }
            do:
              - complete: done without you
          - do: [{ ask: Well? }]
  fickle:
    on_disconnect: cancel
    script:
      - say: Processing
      - wait: 60s
"#;

async fn server() -> switchboard_testkit::Server {
    switchboard_testkit::Server::serve(AGENTS).await
}
