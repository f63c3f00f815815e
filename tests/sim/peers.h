// A server and its clients, on links; and the negotiations between them, of whatever is to be on these.
#ifndef SKEIN_TESTS_CHAOS_PEERS_H_
#define SKEIN_TESTS_CHAOS_PEERS_H_

#include <functional>
#include <memory>
#include <vector>

#include "core/link/shares.h"
#include "core/stream/connector.h"
#include "tests/sim/link_device.h"
#include "tests/sim/negotiators.h"
#include "tests/sim/process.h"
#include "tests/sim/world.h"

namespace skein::chaos {

// Process 0 is the server.
class Peers {
 public:
  // How a process comes to its end of a negotiation.
  class Kind {
   public:
    virtual ~Kind() = default;
    virtual std::unique_ptr<Asker> MakeAsker(size_t process, std::shared_ptr<connect::Fabrics> fabrics,
                                             const stream::StreamOptions& options, wait::Watcher* waiter) = 0;
    virtual std::unique_ptr<Answerer> MakeAnswerer(std::shared_ptr<connect::Fabrics> fabrics,
                                                   const stream::StreamOptions& options, wait::Watcher* waiter) = 0;
  };

  // `kind` outlives it.
  Peers(World& world, Kind& kind);
  ~Peers();

  // An end is given to its owner, or nothing: at the server first, at the client in any case. Either may die before.
  using Given = std::function<void(bool to_client, Ending ending)>;
  void Connect(size_t client, Given given);

  // Brings negotiations forward, and lets who is awake poll.
  void Step();
  // Streams of the process are gone before.
  void OnDeath(size_t process);
  void OnStart(size_t process);
  // One link of the process ends, for no reason.
  void CloseLink(const Fault& fault);

  size_t window() const { return options_.window_bytes; }
  bool negotiating() const { return !negotiations_.empty(); }
  // Links that should have been given back, once nobody uses them.
  bool links_are_left() const;
  // Nothing but links that the server has, and has an excuse to lose, and nothing tells it that it has: neither a word
  // that it could read, nor a queue pair that has failed. It finds out when somebody comes.
  bool lost_is_left() const;
  std::string Links() const;  // for people

 private:
  struct Node {
    std::unique_ptr<Process> process;  // polls what the others have made
    std::shared_ptr<LinkFabrics> fabrics;
    std::unique_ptr<Asker> asker;
    std::unique_ptr<Answerer> answerer;
  };
  struct Negotiation {
    size_t client = 0;
    std::unique_ptr<Asking> asking;
    std::shared_ptr<LinkEnd> end;  // of what the client has offered
    std::string answer;
    uint32_t number = 0;             // of the stream that it gives
    std::shared_ptr<LinkEnd> place;  // the server's end of the link that this is on, or would have been
    bool answered = false;
    absl::Time due;
    Given given;
  };

  stream::StreamOptions OptionsOf(size_t process);
  bool Forward(Negotiation& negotiation);
  void Answer(Negotiation& negotiation);
  void Complete(Negotiation& negotiation);

  World& world_;
  Kind& kind_;
  const bool sleepy_;
  stream::StreamOptions options_;
  std::vector<Node> nodes_;
  std::vector<Negotiation> negotiations_;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_PEERS_H_
