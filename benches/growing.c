// The growing flow set as a program of its own: flows of a Poisson process of packets each join and leave, and a port
// spreads them over few queues by groups that Bloom filters count.
//
// It is what one experiment costs without a simulator around it. `growing.py` compiles it, checks that it gives the
// engine's ratio of the fullest queue to the emptiest, and compares the time a packet. The rules are those of
// tailback's `qsdrr` with `mapper = "bloom"` (docs/disciplines/mappers.md). What it can leave out, it does:
//
//   sources   all flows together are one Poisson process, and each packet is of a drawn flow: the same law;
//   sizes     all packets are as large as the quantum, so that each turn sends one and needs no credit;
//   filters   a bit that is set while no flows are counted is never read, so it is not set.
//
// Arguments: duration_s first more start_gap_s stop_from_s first_gap_s more_gap_s rate_bps queues buffer pb db seed.
// Prints: packets offered, packets sent, groups moved, mean ratio from 0.25 s to the last change, CPU seconds.
//
// Source: A. Kantawala and J. S. Turner, report WUCSE-2005-11, Washington University, 2005, chapters 3 and 5.

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUEUES = 256, GROUPS_PER_QUEUE = 10, GROUPS = QUEUES * GROUPS_PER_QUEUE, BUFFER = 4095, FLOWS = 16384 };
enum { BITS = 50, HASHES = 7, MOST = 15, NONE = 65535 };
static const double FLOW_BPS = 1e6, PACKET_BITS = 12000, PERIOD = 0.2, SETTLE = 0.05, SETTLED = 0.25;

static unsigned queues, groups, buffer;
static bool pb, db;
static double now;

// ---- Random numbers and hashes: SplitMix64.

static uint64_t state, group_seed, bit_seed;

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t draw(void) {
    uint64_t x = mix(state);
    state += 0x9e3779b97f4a7c15u;
    return x;
}

static unsigned below(uint64_t hash, unsigned n) { return (unsigned)(((hash >> 32) * n) >> 32); }

static double exponential(void) { return -log(((draw() >> 11) + 1) * 0x1p-53); }

// ---- True flows of each queue, and the ratio's mean over time.

static unsigned truth[GROUPS], flows_of[QUEUES];
static double ratio_sum, told;

// Before each change: what was true until now.
static void tell(void) {
    if (now > told && now > SETTLED) {
        unsigned least = UINT32_MAX, most = 0;
        for (unsigned q = 0; q < queues; q++) {
            least = flows_of[q] < least ? flows_of[q] : least;
            most = flows_of[q] > most ? flows_of[q] : most;
        }
        ratio_sum += (double)most / least * (now - (told > SETTLED ? told : SETTLED));
    }
    told = now;
}

// ---- The table of groups: counted flows and groups of each queue, and the threshold.

static unsigned map[GROUPS], count[GROUPS], stored[GROUPS], counted[QUEUES], groups_of[QUEUES];
static uint64_t filter[GROUPS], rank[QUEUES], ranked, moves;
static unsigned threshold;
static bool learning;

// Fewest flows first, then fewest groups, then the one that has had these longest.
static void place(unsigned q) {
    uint64_t key = (uint64_t)counted[q] * (groups + 1) + groups_of[q];
    if (rank[q] >> 36 != key) rank[q] = key << 36 | ranked++;
}

static unsigned fewest(void) {
    unsigned best = 0;
    for (unsigned q = 1; q < queues; q++) best = rank[q] < rank[best] ? q : best;
    return best;
}

static void learn(void) {
    unsigned total = 0;
    memset(counted, 0, sizeof counted);
    for (unsigned g = 0; g < groups; g++) counted[map[g]] += count[g], total += count[g];
    for (unsigned q = 0; q < queues; q++) place(q);
    threshold = (total + queues - 1) / queues;
}

static void move(unsigned g, unsigned to) {
    unsigned from = map[g];
    map[g] = to;
    counted[from] -= count[g], counted[to] += count[g];
    groups_of[from]--, groups_of[to]++;
    place(from), place(to);
    moves++;
    if (truth[g]) tell(), flows_of[from] -= truth[g], flows_of[to] += truth[g];
}

// The largest group first, each to the queue with the fewest flows.
static void distribute(void) {
    for (unsigned q = 0; q < queues; q++) place(q);
    for (unsigned c = MOST + 1; c-- > 0;)
        for (unsigned g = 0; g < groups; g++)
            if (count[g] == c) {
                unsigned q = map[g] = fewest();
                counted[q] += c, groups_of[q]++, flows_of[q] += truth[g];
                place(q);
            }
    learn();
}

// PB: queues above the threshold, the fullest first, give groups without packets to the queue with the fewest flows.
static void balance(void) {
    static unsigned first[QUEUES], next[GROUPS], giver[QUEUES];
    unsigned givers = 0;
    for (unsigned q = 0; q < queues; q++) {
        first[q] = NONE;
        if (counted[q] <= threshold) continue;
        unsigned i = givers++;
        for (; i > 0 && counted[giver[i - 1]] < counted[q]; i--) giver[i] = giver[i - 1];
        giver[i] = q;
    }
    for (unsigned g = groups; g-- > 0;)
        if (!stored[g]) next[g] = first[map[g]], first[map[g]] = g;
    for (unsigned i = 0; i < givers; i++) {
        unsigned from = giver[i], to = fewest();
        for (unsigned g = first[from], after; g != NONE; g = after) {
            if (to == from || counted[from] <= threshold || counted[to] >= threshold) break;
            after = next[g];
            move(g, to);
        }
    }
}

static unsigned group_of(uint32_t label) {
    return (unsigned)(((unsigned __int128)(mix(mix(label) ^ group_seed)) * groups) >> 64);
}

// Count a flow that sets a new bit.
static void count_flow(unsigned g, uint32_t label) {
    uint64_t hash = mix(label) ^ bit_seed, bits = 0;
    for (int i = 0; i < HASHES; i++) {
        hash = i % 2 ? hash >> 32 | hash << 32 : mix(hash);
        bits |= 1ull << (((hash & 0xffffffff) * BITS) >> 32);
    }
    if ((bits & ~filter[g]) && count[g] < MOST) count[g]++;
    filter[g] |= bits;
}

// DB: a group whose last packet leaves a queue above the threshold goes to the queue with the fewest flows.
static void left(unsigned g) {
    if (--stored[g] || learning || !db || counted[map[g]] <= threshold) return;
    unsigned to = fewest();
    if (to != map[g]) move(g, to);
}

// ---- The queues: packets, the ring of turns, and how many queues have each length.

static uint16_t packet_next[BUFFER + 1], packet_group[BUFFER + 1], unused, head[QUEUES], tail[QUEUES], length[QUEUES];
static uint16_t ring_prev[QUEUES], ring_next[QUEUES], turn = NONE, victim = NONE, equal[BUFFER + 1];
static uint64_t since[QUEUES], lengths_set, occupied[64], occupied_words, offered, sent;
static unsigned held;
static bool sent_this_turn;

// Bits say which lengths occur.
static void set_length(unsigned q, unsigned n) {
    unsigned old = length[q];
    if (old && !--equal[old] && !(occupied[old / 64] &= ~(1ull << old % 64))) occupied_words &= ~(1ull << old / 64);
    if (n && !equal[n]++) occupied[n / 64] |= 1ull << n % 64, occupied_words |= 1ull << n / 64;
    length[q] = n, since[q] = lengths_set++;
}

// Of equal queues the one that has been so longest. A victim serves for many packets, so a search is no cost.
static unsigned longest(void) {
    unsigned best = 0;
    for (unsigned q = 1; q < queues; q++)
        if (length[q] > length[best] || (length[q] == length[best] && since[q] < since[best])) best = q;
    return best;
}

static bool strictly_shortest(unsigned q) {
    unsigned word = __builtin_ctzll(occupied_words), least = word * 64 + __builtin_ctzll(occupied[word]);
    return !length[q] || (length[q] == least && equal[least] == 1);
}

// The first packet of a queue leaves it; returns its group.
static unsigned take(unsigned q) {
    unsigned p = head[q], g = packet_group[p];
    head[q] = packet_next[p], packet_next[p] = unused, unused = p;
    held--;
    set_length(q, length[q] - 1);
    if (!length[q]) {
        ring_next[ring_prev[q]] = ring_next[q], ring_prev[ring_next[q]] = ring_prev[q];
        if (turn == q) turn = ring_next[q] == q ? NONE : ring_next[q], sent_this_turn = false;
    }
    return g;
}

static void put(unsigned q, unsigned g) {
    unsigned p = unused;
    unused = packet_next[p];
    packet_group[p] = g;
    held++;
    *(length[q] ? &packet_next[tail[q]] : &head[q]) = p;
    tail[q] = p;
    set_length(q, length[q] + 1);
    if (length[q] > 1) return;
    // A queue joins the round at its end, before the queue with the turn.
    if (turn == NONE) {
        turn = ring_prev[q] = ring_next[q] = q, sent_this_turn = false;
        return;
    }
    ring_prev[q] = ring_prev[turn], ring_next[q] = turn;
    ring_next[ring_prev[turn]] = q, ring_prev[turn] = q;
}

static void serve(void) {
    if (sent_this_turn) turn = ring_next[turn];
    sent_this_turn = true;
    sent++;
    left(take(turn));
}

static void offer(uint32_t label) {
    unsigned g = group_of(label), q = map[g];
    if (learning) count_flow(g, label);
    stored[g]++;
    offered++;
    if (held == buffer) {
        if (victim == NONE || strictly_shortest(victim)) victim = longest();
        left(take(victim));
    }
    put(q, g);
}

// ---- The flows, and the events in the order of time.

typedef struct { double at; unsigned flow; bool joins; } Change;

static Change changes[2 * FLOWS + 1];
static uint32_t label[FLOWS];
static unsigned present[FLOWS], place_of[FLOWS], presents;

static int earlier(const void *a, const void *b) {
    double x = ((const Change *)a)->at, y = ((const Change *)b)->at;
    return (x > y) - (x < y);
}

static void change(Change c) {
    unsigned g = group_of(label[c.flow]);
    tell();
    truth[g] += c.joins ? 1 : -1, flows_of[map[g]] += c.joins ? 1 : -1;
    if (c.joins) {
        place_of[c.flow] = presents, present[presents++] = c.flow;
    } else {
        unsigned last = present[--presents];
        present[place_of[c.flow]] = last, place_of[last] = place_of[c.flow];
    }
}

// What comes after the flows that are there first have joined.
static void draw_changes(unsigned first, unsigned more, double start, double from, double gone, double more_gone) {
    static double stop[FLOWS];
    unsigned n = 0;
    double begun = 0, ended = from;
    for (unsigned f = 0; f < first; f++) changes[n++] = (Change){ended += gone * exponential(), f, false};
    ended = from;
    for (unsigned i = 0; i < more; i++) {
        // In random order: each new time changes places with one of those before it.
        unsigned j = below(draw(), i + 1);
        stop[i] = stop[j], stop[j] = ended += more_gone * exponential();
    }
    for (unsigned i = 0; i < more; i++) {
        begun += start * exponential();
        if (stop[i] <= begun) continue;
        changes[n++] = (Change){begun, first + i, true};
        changes[n++] = (Change){stop[i], first + i, false};
    }
    qsort(changes, n, sizeof *changes, earlier);
    for (unsigned f = 0; f < first + more; f++) label[f] = (uint32_t)draw();
    changes[n].at = INFINITY;
}

static void begin(unsigned first) {
    for (unsigned p = 0; p < buffer; p++) packet_next[p] = p + 1;
    for (unsigned f = 0; f < first; f++) {
        // No group has a queue yet.
        unsigned g = group_of(label[f]);
        truth[g]++, place_of[f] = presents, present[presents++] = f;
        count_flow(g, label[f]);
    }
    distribute();
}

static void run(double duration, double service) {
    double clear = PERIOD, timer = clear, line_free = 0, other = 0;
    for (unsigned next = 0;;) {
        // A Poisson process has no memory: after an event of another kind the gap is drawn again.
        double arrival = now + exponential() * PACKET_BITS / (FLOW_BPS * presents);
        double at = arrival < other ? arrival : other;
        for (; held && line_free <= at; line_free += service) now = line_free, serve();
        now = at;
        if (arrival < other) {
            offer(label[present[below(draw(), presents)]]);
            if (line_free <= now) serve(), line_free = now + service;
            continue;
        }
        if (now >= duration) return;
        if (now >= changes[next].at) {
            change(changes[next++]);
        } else if (now >= timer && learning) {
            learning = false;
            learn();
            if (pb) balance();
            timer = clear += PERIOD;
        } else if (now >= timer) {
            learning = true;
            memset(filter, 0, sizeof filter), memset(count, 0, sizeof count);
            timer = clear + SETTLE;
        }
        other = fmin(fmin(timer, changes[next].at), duration);
    }
}

int main(int argc, char **argv) {
    double a[13];
    if (argc != 14) return fprintf(stderr, "13 arguments, described where the source begins\n"), 2;
    for (int i = 0; i < 13; i++) a[i] = atof(argv[i + 1]);
    queues = a[8], groups = queues * GROUPS_PER_QUEUE, buffer = a[9], pb = a[10], db = a[11];
    if (queues > QUEUES || buffer > BUFFER || a[1] + a[2] > FLOWS) return fprintf(stderr, "too large\n"), 2;
    state = mix((uint64_t)a[12]), group_seed = draw(), bit_seed = draw();
    draw_changes(a[1], a[2], a[3], a[4], a[5], a[6]);
    begin(a[1]);
    run(a[0], PACKET_BITS / a[7]);
    printf("%llu %llu %llu %.9g %.6f\n", (unsigned long long)offered, (unsigned long long)sent,
           (unsigned long long)moves, ratio_sum / (told - SETTLED), (double)clock() / CLOCKS_PER_SEC);
}
