// What an algorithm costs, for communicators of more than one node: the figures of its Cost line.
#pragma once

namespace smddp::coll {

// Of the rank that does most. n is the count of the call.
struct Cost {
  double rounds = 0;      // messages in a row
  double messages = 0;    // sent or received, whichever is more
  double sent = 0;        // elements sent, in n
  double received = 0;    // elements received, in n
  double added = 0;       // inputs of reductions between nodes, in n
  double node_steps = 0;  // in a row
  double node_moved = 0;  // elements that a node step moves for a rank, in n, all steps together
  double talkers = 0;     // ranks of a node that send so much to other nodes at the same time; 0: all, some of it inside the node
  bool one_way = false;   // a segment is sent before any of it comes back: a single one never fills both directions of a link
};

}  // namespace smddp::coll
