#include "agent.hpp"

#include "exit_status.hpp"
#include "frame.hpp"
#include "keeper.hpp"
#include "plan_frame.hpp"
#include "ports.hpp"
#include "process_tree.hpp"
#include "start.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>

namespace smddprun {
namespace {

class Agent {
 public:
  Agent();
  int run();

 private:
  bool receive_plan();
  void launch();
  void make_input();
  void prepare_polls(std::vector<pollfd>& polls);
  void obey_all();
  void obey(const Frame& frame);
  void on_keeper();
  void write_input();
  void pump(size_t source);
  void tell(FrameKind kind, std::string_view body) { out_.add(kind, body); }
  int give_up(const std::string& sentence);
  void say_last_words();
  void say_the_rest();
  int leave();

  Fd from_launcher_, to_launcher_;
  FrameReader in_;
  OutQueue out_;
  ReceivedPlan received_;
  Ports ports_;
  Started started_;
  Fd input_;  // to rank 0's standard input
  OutQueue to_rank_;
  int64_t to_rank_bytes_ = 0;
  bool input_ends_ = false;
  bool ended_ = false, keeper_died_ = false;
};

Fd take_stream(int stream) {
  Fd fd(fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, stream);
  close(null);
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  return fd;
}

Agent::Agent() : from_launcher_(take_stream(STDIN_FILENO)), to_launcher_(take_stream(STDOUT_FILENO)) { out_.add(kAgentMarker); }

// False if the launcher is gone.
bool Agent::receive_plan() {
  for (;;) {
    if (!out_.flush(to_launcher_.get())) return false;
    while (const std::optional<Frame> frame = in_.next()) {
      if (frame->kind != FrameKind::kPlan) continue;
      unpack_plan(frame->body, received_);
      return true;
    }
    pollfd wait{from_launcher_.get(), POLLIN, 0};
    poll(&wait, 1, -1);
    if (!in_.fill(from_launcher_.get())) return false;
  }
}

void Agent::make_input() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Failure(with_errno("pipe", errno));
  received_.plan.rank0_stdin.reset(ends[0]);
  input_.reset(ends[1]);
  fcntl(input_.get(), F_SETFL, O_NONBLOCK);
}

void Agent::launch() {
  LaunchPlan& plan = received_.plan;
  if (chdir(received_.folder.c_str()) != 0) throw Failure(with_errno("cannot enter the folder '" + received_.folder + "'", errno));
  plan.descriptor_limit = raise_descriptor_limit(plan.here.processes());
  environ = plan.environment.pointers();
  if (plan.here.first_process() == 0) {
    ports_ = reserve_ports_for_hosts();
    plan.point = {ports_.address, ports_.bootstrap_port, ports_.master_port, plan.point.job_id};
    plan.listener = std::move(ports_.listener);
    if (plan.here.processes() < plan.size + plan.servers && (ports_.address.rfind("127.", 0) == 0 || ports_.address == "::1")) {
      std::fprintf(stderr, "smddprun: warning: the host of rank 0 has no address but %s, which no other host reaches\n", ports_.address.c_str());
    }
    make_input();
    tell(FrameKind::kPlace, pack_place(plan.point));
  }
  const auto close_own = [this] {
    from_launcher_.reset();
    to_launcher_.reset();
    input_.reset();
  };
  started_ = start_keeper(plan, close_own, [&plan](Fd channel) { run_keeper(plan, std::move(channel)); });
}

void Agent::pump(size_t source) {
  char buffer[32768];
  Fd& fd = started_.sources[source];
  while (fd && !out_.full()) {
    const ssize_t length = read(fd.get(), buffer, sizeof buffer);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && errno == EAGAIN) return;
    if (length <= 0) return fd.reset();
    const int process = received_.plan.here.first_process() + static_cast<int>(source / 2);
    Packer packer;
    packer.number(process).number(static_cast<int>(source % 2));
    tell(FrameKind::kOutput, packer.bytes() + std::string(buffer, static_cast<size_t>(length)));
  }
}

void Agent::on_keeper() {
  Event event;
  ssize_t length;
  while ((length = uninterrupted([&] { return recv(started_.channel.get(), &event, sizeof event, MSG_DONTWAIT); })) != 0) {
    if (length < 0 && errno == ECONNRESET) continue;
    if (length != sizeof event) return;
    if (event.kind == Event::kEnded) {
      ended_ = true;
      return;
    }
    // What a process said last belongs before what is said about it.
    const size_t place = static_cast<size_t>(event.process - received_.plan.here.first_process());
    if (event.kind == Event::kExited) pump(2 * place);
    if (event.kind == Event::kExited) pump(2 * place + 1);
    tell(FrameKind::kEvent, Packer().number(event).bytes());
  }
  keeper_died_ = true;
}

void Agent::write_input() {
  if (input_ && !to_rank_.flush(input_.get())) input_.reset();
  if (!to_rank_.pending() || !input_) {
    if (to_rank_bytes_ > 0) tell(FrameKind::kTaken, Packer().number(to_rank_bytes_).bytes());
    to_rank_bytes_ = 0;
    if (input_ends_) input_.reset();
  }
}

void Agent::obey(const Frame& frame) {
  Unpacker unpacker(frame.body);
  switch (frame.kind) {
    case FrameKind::kCommand: {
      const auto command = unpacker.number<Command>();
      uninterrupted([&] { return send(started_.channel.get(), &command, sizeof command, MSG_NOSIGNAL); });
      break;
    }
    case FrameKind::kInput:
      to_rank_.add(frame.body);
      to_rank_bytes_ += static_cast<int64_t>(frame.body.size());
      write_input();
      break;
    case FrameKind::kInputEnd:
      input_ends_ = true;
      write_input();
      break;
    case FrameKind::kClosed: {
      const auto source = unpacker.number<uint32_t>();
      if (source < started_.sources.size()) started_.sources[source].reset();
      break;
    }
    default: break;
  }
}

void Agent::obey_all() {
  while (const std::optional<Frame> frame = in_.next()) obey(*frame);
}

void Agent::prepare_polls(std::vector<pollfd>& polls) {
  polls = {{from_launcher_.get(), POLLIN, 0},
           {started_.channel.get(), POLLIN, 0},
           {out_.pending() ? to_launcher_.get() : -1, POLLOUT, 0},
           {input_ && to_rank_.pending() ? input_.get() : -1, POLLOUT, 0}};
  for (const Fd& source : started_.sources) polls.push_back({out_.full() ? -1 : source.get(), POLLIN, 0});
}

// Until the launcher has taken all that is queued, or is gone.
void Agent::say_last_words() {
  while (out_.flush(to_launcher_.get()) && out_.pending()) {
    pollfd waits[] = {{to_launcher_.get(), POLLOUT, 0}, {from_launcher_.get(), POLLIN, 0}};
    poll(waits, 2, -1);
    if (waits[1].revents && !in_.fill(from_launcher_.get())) return;
  }
}

// All ranks have ended: what is still in their pipes.
void Agent::say_the_rest() {
  for (size_t i = 0; i < started_.sources.size(); ++i) {
    for (pump(i); out_.full(); pump(i)) {
      say_last_words();
      if (out_.full()) return;
    }
  }
  tell(FrameKind::kEvent, Packer().number(Event{Event::kEnded, 0, 0}).bytes());
  say_last_words();
}

int Agent::give_up(const std::string& sentence) {
  tell(FrameKind::kFailed, sentence);
  say_last_words();
  return kLauncherFailed;
}

// Without the launcher: the keeper kills all when it hears nobody any more.
int Agent::leave() {
  started_.channel.reset();
  if (started_.keeper > 0) waitpid(started_.keeper, nullptr, 0);
  return kLauncherFailed;
}

int Agent::run() {
  try {
    if (!receive_plan()) return kLauncherFailed;
    launch();
    obey_all();  // what came with the plan
    std::vector<pollfd> polls;
    while (!ended_ && !keeper_died_) {
      if (!out_.flush(to_launcher_.get())) return leave();
      prepare_polls(polls);
      poll(polls.data(), polls.size(), -1);
      if (polls[0].revents) {
        if (!in_.fill(from_launcher_.get())) return leave();
        obey_all();
      }
      if (polls[3].revents) write_input();
      for (size_t i = 0; i < started_.sources.size(); ++i) {
        if (polls[4 + i].revents) pump(i);
      }
      if (polls[1].revents) on_keeper();
    }
  } catch (const Failure& failure) {
    leave();
    return give_up(failure.what());
  }
  if (keeper_died_) {
    kill_descendants();
    return give_up("the process that keeps the ranks was killed");
  }
  waitpid(started_.keeper, nullptr, 0);
  say_the_rest();
  return 0;
}

}  // namespace

int run_agent() { return Agent().run(); }

}  // namespace smddprun
