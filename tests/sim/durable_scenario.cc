#include "tests/sim/durable_scenario.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace skein::chaos {
namespace {

constexpr uint64_t kMostUnanswered = 100;

}  // namespace

DurableScenario::DurableScenario(World& world) : world_(world), places_(world.processes()) {
  peers_ = std::make_unique<Peers>(world_, kind_);
  server_ = std::make_unique<DurableServer>(world_, records_);
  for (size_t process = 1; process < places_.size(); ++process) {
    MakeClient(process);
  }
}

DurableScenario::~DurableScenario() {
  for (Place& place : places_) place.client.reset();
  server_->Die();
  peers_.reset();
}

void DurableScenario::MakeClient(size_t process) {
  places_[process].client = std::make_unique<DurableClient>(
      world_, ++lives_, records_, [this](const DurableRecord& record) { return server_->MayBeLetGo(record); });
}

void DurableScenario::Begin(size_t process) {
  Place& begun = places_[process];
  const uint64_t number = ++connections_;
  begun.connection = number;
  begun.connecting = true;
  begun.given = false;
  begun.cut_off = absl::InfiniteFuture();
  const auto missing = std::make_shared<int>(2);
  peers_->Connect(process, [this, process, number, missing](bool to_client, Ending ending) {
    world_.journal().Check(ending.given() || ending.may_be_nothing || (to_client && *missing == 2),
                           "no way to connect, for no reason: ", ToString(ending.why));
    if (!to_client) {
      if (ending.given()) server_->Connect(number, std::move(ending.stream), missing);
      return;
    }
    Place& place = places_[process];
    if (place.connection != number) return;  // of a former life
    place.connecting = false;
    place.given = ending.given() && place.client != nullptr;
    if (place.given) place.client->Connect(std::move(ending.stream), missing);
  });
}

// As TCP's end tells either end of the other's.
void DurableScenario::ActConnection(size_t process, Place& place) {
  if (place.connecting) return;
  const bool at_client = place.client->connected();
  const bool at_server = world_.alive(0) && server_->connected(place.connection);
  if (at_client != at_server && place.cut_off == absl::InfiniteFuture()) {
    place.cut_off = world_.simulation().now() + kNews;
  }
  if (world_.simulation().now() < place.cut_off) return;
  if (at_client && world_.awake(process)) place.client->DrainAndDisconnect();
  if (at_server && world_.awake(0)) server_->Disconnect(place.connection, /*drain=*/true);
}

void DurableScenario::Act(size_t process) {
  Place& place = places_[process];
  Dice& dice = world_.dice();
  if (place.client == nullptr) return;
  ActConnection(process, place);
  if (!world_.awake(process)) return;
  if (!finishing_ && dice.OneIn(3) && place.client->unanswered() < kMostUnanswered) place.client->Start();
  place.client->Pump();
  const bool idle = !place.connecting && !place.client->connected() && !server_->connected(place.connection);
  if (idle && dice.OneIn(10)) Begin(process);
  if (!finishing_ && dice.OneIn(1000)) place.client->Disconnect();
}

void DurableScenario::Step() {
  for (size_t process = 1; process < places_.size(); ++process) Act(process);
  if (world_.awake(0)) server_->Work();
  peers_->Step();
}

void DurableScenario::OnExit(size_t process) {
  if (process != 0) places_[process].client->Disconnect();
}

void DurableScenario::OnDeath(size_t process) {
  if (process == 0) server_->Die();
  places_[process].client.reset();
  places_[process].connecting = false;
  peers_->OnDeath(process);
}

void DurableScenario::OnStart(size_t process) {
  peers_->OnStart(process);
  if (process == 0) return server_->Open();
  MakeClient(process);
}

void DurableScenario::OnClose(const Fault& fault) {
  if (fault.number % 2 == 0) return peers_->CloseLink(fault);
  const uint64_t connection = places_[fault.peer].connection;
  if (fault.process == 0 ? !server_->connected(connection) : !places_[fault.process].client->connected()) return;
  world_.journal().Count(fault.kind);
  if (fault.process == 0) return server_->Disconnect(connection, /*drain=*/false);
  places_[fault.process].client->Disconnect();
}

bool DurableScenario::Settled() const {
  for (const Place& place : places_) {
    if (place.client != nullptr && place.client->unanswered() > 0) return false;
  }
  return server_->unfinished() == 0;  // of clients that have died, too
}

std::string DurableScenario::Unsettled() const {
  std::string text;
  for (size_t process = 1; process < places_.size(); ++process) {
    const Place& place = places_[process];
    absl::StrAppend(&text, "process ", process, " waits for ", place.client->unanswered(), " replies",
                    place.connecting ? ", connecting" : "", place.client->connected() ? ", connected" : "",
                    server_->connected(place.connection) ? ", connected at the server" : "", "; ");
  }
  return absl::StrCat(text, "the server has ", server_->unfinished(), " calls to finish");
}

}  // namespace skein::chaos
