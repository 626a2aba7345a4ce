/* SPDX-License-Identifier: BSD-3-Clause */
#include "ft/consensus.h"

#include "ft/member_set_private.h"
#include "ft/note_private.h"
#include "pt2pt/pt2pt.h"
#include "runtime/failures.h"
#include "base/fail.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out_of_memory.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>

enum { NOBODY = -1, FREED_MOST = 64 };

/* A value that is proposed, accepted or decided. */
typedef struct agreed {
    int32_t flag, is_new;
    uint8_t *failed; /* [set_bytes] */
} agreed_t;

/* One agreement. The sets are in `memory`. */
typedef struct turn {
    weft_link_t link;
    uint32_t number;
    weft_decided_fn_t on_decided;
    void *owner;
    bool has_begun; /* this process takes part; otherwise others have sent something for it */
    bool is_decided;
    int told;     /* the leader that this member has told last; the leader itself: its own rank */
    int accepted; /* the leader whose value it has accepted; NOBODY */
    agreed_t value;
    /* As the leader. */
    bool has_proposed;
    int best;         /* the highest ballot that members have accepted before; NOBODY */
    agreed_t brought; /* the flags joined, the failures known to any; or the value of `best` */
    uint8_t *unacked; /* members that one has not acknowledged */
    uint8_t *own_unacked;
    int32_t own_flag;
    uint8_t *have_told, *have_accepted;
    uint8_t memory[]; /* [6][set_bytes] */
} turn_t;

enum { SETS = 6 };

/* The agreements of one communicator: those under way, and the last that was decided. */
typedef struct consensus {
    weft_link_t link;
    uint32_t context, check;
    int size, rank;
    size_t set_bytes;
    weft_group_t *group; /* NULL: this process has not taken part yet */
    bool is_freed;       /* so is the communicator */
    uint32_t begun;      /* the number of the next one in which this process takes part */
    weft_list_t turns;
} consensus_t;

static weft_list_t all = {&all, &all};
static int depth; /* of calls that hold a consensus: none is freed meanwhile */

/* One that has left in order has the decision of MPI_Finalize, and tells nobody. */
static bool is_alive(const consensus_t *c, int rank)
{
    const weft_process_t *process = &weft_processes.at[weft_group_process(c->group, rank)];
    return !process->has_failed && !process->has_left;
}

static void copy_agreed(const consensus_t *c, agreed_t *to, const agreed_t *from)
{
    to->flag = from->flag;
    to->is_new = from->is_new;
    memcpy(to->failed, from->failed, c->set_bytes);
}

/* ---- finding ---- */

static turn_t *create_turn(consensus_t *c, uint32_t number)
{
    size_t bytes = sizeof(turn_t) + SETS * c->set_bytes;
    turn_t *turn = weft_alloc_zeroed(1, bytes);
    if (turn == NULL)
        weft_out_of_memory("an agreement", bytes);
    turn->number = number;
    turn->told = turn->accepted = turn->best = NOBODY;
    turn->brought.flag = ~0;
    turn->value.failed = turn->memory;
    turn->brought.failed = turn->memory + c->set_bytes;
    turn->unacked = turn->memory + 2 * c->set_bytes;
    turn->have_told = turn->memory + 3 * c->set_bytes;
    turn->have_accepted = turn->memory + 4 * c->set_bytes;
    turn->own_unacked = turn->memory + 5 * c->set_bytes;
    weft_list_append(&c->turns, &turn->link);
    return turn;
}

static turn_t *find_turn(const consensus_t *c, uint32_t number)
{
    for (weft_link_t *at = c->turns.next; at != &c->turns; at = at->next) {
        turn_t *turn = WEFT_ELEMENT(at, turn_t, link);
        if (turn->number == number)
            return turn;
    }
    return NULL;
}

static void free_consensus(consensus_t *c)
{
    weft_list_remove(&c->link);
    for (weft_link_t *link; (link = weft_list_pop(&c->turns)) != NULL;)
        weft_free(WEFT_ELEMENT(link, turn_t, link));
    if (c->group != NULL)
        weft_group_release(c->group);
    weft_free(c);
}

static consensus_t *create_consensus(uint32_t context, uint32_t check, int size)
{
    consensus_t *c = weft_alloc_zeroed(1, sizeof(*c));
    if (c == NULL)
        weft_out_of_memory("an agreement", sizeof(*c));
    c->context = context;
    c->check = check;
    c->size = size;
    c->set_bytes = weft_member_set_bytes(size);
    weft_list_init(&c->turns);
    weft_list_append(&all, &c->link);
    return c;
}

static consensus_t *find_consensus(uint32_t context, uint32_t check, int size)
{
    for (weft_link_t *at = all.next; at != &all; at = at->next) {
        consensus_t *c = WEFT_ELEMENT(at, consensus_t, link);
        if (c->context == context && c->check == check && c->size == size)
            return c;
    }
    return NULL;
}

static void consensus_freed(weft_comm_t *comm, void *state)
{
    (void)comm;
    ((consensus_t *)state)->is_freed = true;
}

static bool is_idle(const consensus_t *c)
{
    bool result = c->is_freed;
    for (weft_link_t *at = c->turns.next; at != &c->turns; at = at->next)
        result = result && WEFT_ELEMENT(at, turn_t, link)->is_decided;
    return result;
}

/* What a freed communicator has decided last is kept for a while, since others may still ask. */
static void forget_oldest(void)
{
    consensus_t *oldest = NULL;
    int idle = 0;
    for (weft_link_t *at = all.previous; at != &all; at = at->previous) {
        consensus_t *c = WEFT_ELEMENT(at, consensus_t, link);
        if (!is_idle(c))
            continue;
        idle++;
        oldest = c;
    }
    if (idle > FREED_MOST)
        free_consensus(oldest);
}

static int consensus_of(weft_comm_t *whole, consensus_t **out)
{
    int slot = weft_comm_slot_register("agreements", consensus_freed);
    if (slot < 0)
        return MPI_ERR_INTERN;
    consensus_t *c = whole->slot[slot];
    if (c == NULL) {
        uint32_t check = wefti_check_of(whole->group);
        c = find_consensus(whole->context, check, whole->size);
        if (c != NULL && c->is_freed) { /* an older one of the same members and context */
            free_consensus(c);
            c = NULL;
        }
        if (c == NULL)
            c = create_consensus(whole->context, check, whole->size);
        whole->slot[slot] = c;
    }
    if (c->group == NULL) {
        c->group = whole->group;
        weft_group_retain(c->group);
        c->rank = whole->rank;
    }
    *out = c;
    return MPI_SUCCESS;
}

/* ---- notes ---- */

typedef struct outgoing {
    wefti_note_kind_t kind;
    int ballot;
    const agreed_t *value;  /* NULL: none */
    const uint8_t *unacked; /* NULL: none */
} outgoing_t;

static void tell(const consensus_t *c, const turn_t *turn, const outgoing_t *what, int rank)
{
    size_t bytes = sizeof(wefti_note_t) + 2 * c->set_bytes;
    wefti_note_t *note = weft_alloc_zeroed(1, bytes);
    if (note == NULL)
        weft_out_of_memory("an agreement", bytes);
    *note = (wefti_note_t){.kind = what->kind,
                           .rank = c->rank,
                           .context = c->context,
                           .check = c->check,
                           .number = turn->number,
                           .size = c->size,
                           .ballot = what->ballot};
    if (what->value != NULL) {
        note->flag = what->value->flag;
        note->is_new = what->value->is_new;
        memcpy(note->sets, what->value->failed, c->set_bytes);
    }
    if (what->unacked != NULL)
        memcpy(note->sets + c->set_bytes, what->unacked, c->set_bytes);
    weft_pt2pt_send_note(weft_group_process(c->group, rank), note, bytes);
    weft_free(note);
}

static void tell_others(const consensus_t *c, const turn_t *turn, const outgoing_t *what)
{
    for (int rank = 0; rank < c->size; rank++) {
        if (rank != c->rank && is_alive(c, rank))
            tell(c, turn, what, rank);
    }
}

/* ---- deciding ---- */

static void advance_all(consensus_t *c);

static void declare_failures(const consensus_t *c, const uint8_t *failed)
{
    char why[128];
    for (int rank = 0; rank < c->size; rank++) {
        int process = weft_group_process(c->group, rank);
        if (!set_has(failed, rank) || weft_has_failed(process))
            continue;
        snprintf(why, sizeof(why), "rank %d has died, as an agreement says",
                 weft_process_rank(process));
        weft_declare_failed(process, why);
    }
}

/* The last decision but one has been received by all. */
static void drop_older(consensus_t *c, uint32_t number)
{
    for (weft_link_t *at = c->turns.next, *next; at != &c->turns; at = next) {
        turn_t *turn = WEFT_ELEMENT(at, turn_t, link);
        next = at->next;
        if (turn->is_decided && (int32_t)(turn->number - number) < 0) {
            weft_list_remove(at);
            weft_free(turn);
        }
    }
}

/* What it sets off may decide later ones, which drops this one. */
static void decide(consensus_t *c, turn_t *turn, const agreed_t *value)
{
    if (turn->is_decided)
        return;
    uint8_t *failed = weft_alloc(c->set_bytes);
    if (failed == NULL)
        weft_out_of_memory("an agreement", c->set_bytes);
    memcpy(failed, value->failed, c->set_bytes);
    turn->is_decided = true;
    if (value != &turn->value)
        copy_agreed(c, &turn->value, value);
    drop_older(c, turn->number);
    weft_decision_t decision = {
        .flag = value->flag, .is_new = value->is_new != 0, .failed = failed};
    turn->on_decided(&decision, turn->owner);
    declare_failures(c, failed);
    weft_free(failed);
}

/* ---- leading ---- */

/* Join what a member brings. */
static void take_state(const consensus_t *c, turn_t *turn, int rank, const outgoing_t *state)
{
    if (set_has(turn->have_told, rank))
        return;
    set_add(turn->have_told, rank);
    if (state->ballot > turn->best) {
        turn->best = state->ballot;
        copy_agreed(c, &turn->brought, state->value);
    } else if (turn->best == NOBODY) {
        turn->brought.flag &= state->value->flag;
        set_join(turn->brought.failed, state->value->failed, c->set_bytes);
        set_join(turn->unacked, state->unacked, c->set_bytes);
    }
}

static bool have_all(const consensus_t *c, const uint8_t *set)
{
    for (int rank = 0; rank < c->size; rank++) {
        if (is_alive(c, rank) && !set_has(set, rank))
            return false;
    }
    return true;
}

/* A member that has died unknown to others has been acknowledged by none of them. */
static void choose_value(const consensus_t *c, turn_t *turn)
{
    agreed_t *brought = &turn->brought;
    for (int rank = 0; rank < c->size && turn->best == NOBODY; rank++) {
        if (is_alive(c, rank) || set_has(brought->failed, rank))
            continue;
        set_add(brought->failed, rank);
        set_add(turn->unacked, rank);
    }
    if (turn->best == NOBODY)
        brought->is_new = sets_meet(brought->failed, turn->unacked, c->set_bytes);
    copy_agreed(c, &turn->value, brought);
    turn->accepted = c->rank;
    turn->has_proposed = true;
    set_add(turn->have_accepted, c->rank);
}

static outgoing_t own_state(const turn_t *turn, const agreed_t *own)
{
    return (outgoing_t){.kind = WEFTI_NOTE_STATE,
                        .ballot = turn->accepted,
                        .value = turn->accepted == NOBODY ? own : &turn->value,
                        .unacked = turn->own_unacked};
}

static void lead(consensus_t *c, turn_t *turn)
{
    if (!turn->has_proposed) {
        if (!have_all(c, turn->have_told))
            return;
        choose_value(c, turn);
        tell_others(
            c, turn,
            &(outgoing_t){.kind = WEFTI_NOTE_PROPOSE, .ballot = c->rank, .value = &turn->value});
    }
    if (!have_all(c, turn->have_accepted))
        return;
    tell_others(c, turn,
                &(outgoing_t){.kind = WEFTI_NOTE_DECIDE, .ballot = c->rank, .value = &turn->value});
    decide(c, turn, &turn->value);
}

/* ---- taking part ---- */

/* What this member knows now: who has failed. */
static void fill_failed(const consensus_t *c, uint8_t *failed)
{
    memset(failed, 0, c->set_bytes);
    for (int rank = 0; rank < c->size; rank++) {
        if (!is_alive(c, rank))
            set_add(failed, rank);
    }
}

/* All but those that the program has acknowledged. */
static void fill_unacked(const consensus_t *c, const weft_comm_t *comm, uint8_t *unacked)
{
    memset(unacked, 0xff, c->set_bytes);
    for (int i = 0; i < comm->acknowledged; i++) {
        int rank = weft_group_rank_of(c->group, weft_failures.at[i].process);
        if (rank != MPI_UNDEFINED)
            unacked[rank / 8] &= (uint8_t) ~(1u << rank % 8);
    }
}

static int leader_of(const consensus_t *c)
{
    int rank = 0;
    while (rank != c->rank && !is_alive(c, rank))
        rank++;
    return rank;
}

static void bring(consensus_t *c, turn_t *turn, int leader)
{
    uint8_t *failed = weft_alloc(c->set_bytes);
    if (failed == NULL)
        weft_out_of_memory("an agreement", c->set_bytes);
    fill_failed(c, failed);
    agreed_t own = {.flag = turn->own_flag, .failed = failed};
    outgoing_t state = own_state(turn, &own);
    turn->told = leader;
    if (leader == c->rank)
        take_state(c, turn, c->rank, &state);
    else
        tell(c, turn, &state, leader);
    weft_free(failed);
}

static void advance(consensus_t *c, turn_t *turn)
{
    int leader = leader_of(c);
    if (turn->told != leader)
        bring(c, turn, leader);
    if (leader == c->rank)
        lead(c, turn);
}

/* The first one that is not decided, if this process takes part in it. */
static turn_t *next_turn(const consensus_t *c)
{
    turn_t *next = NULL;
    for (weft_link_t *at = c->turns.next; at != &c->turns; at = at->next) {
        turn_t *turn = WEFT_ELEMENT(at, turn_t, link);
        if (turn->has_begun && !turn->is_decided &&
            (next == NULL || (int32_t)(turn->number - next->number) < 0))
            next = turn;
    }
    return next;
}

static void advance_all(consensus_t *c)
{
    turn_t *turn;
    while (c->group != NULL && (turn = next_turn(c)) != NULL) {
        uint32_t number = turn->number;
        advance(c, turn);
        turn = find_turn(c, number);
        if (turn != NULL && !turn->is_decided)
            return;
    }
}

int weft_consensus_begin(weft_comm_t *comm, int flag, weft_decided_fn_t on_decided, void *owner)
{
    consensus_t *c;
    weft_comm_t *whole = weft_comm_whole(comm);
    if (depth == 0)
        forget_oldest();
    int err = consensus_of(whole, &c);
    if (err != MPI_SUCCESS)
        return err;
    turn_t *turn = find_turn(c, c->begun);
    if (turn == NULL)
        turn = create_turn(c, c->begun);
    c->begun++;
    turn->has_begun = true;
    turn->own_flag = flag;
    turn->on_decided = on_decided;
    turn->owner = owner;
    fill_unacked(c, comm, turn->own_unacked);
    depth++;
    advance_all(c);
    depth--;
    return MPI_SUCCESS;
}

/* ---- what others send ---- */

static void tell_decision(const consensus_t *c, const turn_t *turn, int rank)
{
    tell(c, turn, &(outgoing_t){.kind = WEFTI_NOTE_DECIDE, .value = &turn->value}, rank);
}

static void state_arrived(consensus_t *c, turn_t *turn, const wefti_note_t *note,
                          const outgoing_t *state)
{
    if (turn->is_decided)
        tell_decision(c, turn, note->rank);
    else
        take_state(c, turn, note->rank, state);
}

/* Those that take this member for the leader wait for its word. */
static void decision_arrived(consensus_t *c, turn_t *turn, const wefti_note_t *note,
                             const agreed_t *value)
{
    if (!turn->has_begun || turn->is_decided)
        return;
    copy_agreed(c, &turn->value, value);
    for (int rank = 0; rank < c->size; rank++) {
        if (rank != c->rank && rank != note->rank && set_has(turn->have_told, rank))
            tell_decision(c, turn, rank);
    }
    decide(c, turn, value);
}

/* A lower leader's proposal is late: this member has promised a higher one not to accept it. */
static void proposal_arrived(const consensus_t *c, turn_t *turn, const wefti_note_t *note,
                             const outgoing_t *proposal)
{
    if (turn->is_decided)
        tell_decision(c, turn, note->rank);
    if (!turn->has_begun || turn->is_decided || note->ballot != turn->told)
        return;
    turn->accepted = note->ballot;
    copy_agreed(c, &turn->value, proposal->value);
    tell(c, turn, &(outgoing_t){.kind = WEFTI_NOTE_ACCEPT, .ballot = note->ballot}, note->rank);
}

static bool is_usable(const wefti_note_t *note, size_t bytes)
{
    return note->size > 0 && note->rank >= 0 && note->rank < note->size &&
           bytes == sizeof(*note) + 2 * weft_member_set_bytes(note->size);
}

static void obey_note(consensus_t *c, turn_t *turn, const wefti_note_t *note)
{
    agreed_t value = {note->flag, note->is_new, (uint8_t *)note->sets};
    outgoing_t what = {
        .ballot = note->ballot, .value = &value, .unacked = note->sets + c->set_bytes};
    if (note->kind == WEFTI_NOTE_STATE)
        state_arrived(c, turn, note, &what);
    else if (note->kind == WEFTI_NOTE_PROPOSE)
        proposal_arrived(c, turn, note, &what);
    else if (note->kind == WEFTI_NOTE_ACCEPT && turn->has_proposed)
        set_add(turn->have_accepted, note->rank);
    else if (note->kind == WEFTI_NOTE_DECIDE)
        decision_arrived(c, turn, note, &value);
}

void wefti_consensus_is_told(const wefti_note_t *note, size_t bytes)
{
    if (!is_usable(note, bytes)) {
        WEFT_LOG(WEFT_ERROR, "ft", "dropped a malformed note of an agreement");
        return;
    }
    consensus_t *c = find_consensus(note->context, note->check, note->size);
    if (c == NULL && note->kind != WEFTI_NOTE_STATE)
        return;
    if (c == NULL)
        c = create_consensus(note->context, note->check, note->size);
    turn_t *turn = find_turn(c, note->number);
    if (turn == NULL && (note->kind != WEFTI_NOTE_STATE || (int32_t)(note->number - c->begun) < 0))
        return;
    if (turn == NULL)
        turn = create_turn(c, note->number);
    depth++;
    obey_note(c, turn, note);
    advance_all(c);
    depth--;
}

/* The last leader may have died when it had told this member its decision, and not yet the next
 * leader, which would wait for this member. */
static void help_leader(const consensus_t *c)
{
    int leader = leader_of(c);
    for (weft_link_t *at = c->turns.next; leader != c->rank && at != &c->turns; at = at->next) {
        const turn_t *turn = WEFT_ELEMENT(at, turn_t, link);
        if (turn->is_decided)
            tell_decision(c, turn, leader);
    }
}

/* What is decided meanwhile may add to the list, or take from it. */
void wefti_consensus_lose(void)
{
    depth++;
    for (weft_link_t *at = all.next; at != &all; at = at->next) {
        consensus_t *c = WEFT_ELEMENT(at, consensus_t, link);
        if (c->group != NULL)
            help_leader(c);
        advance_all(c);
    }
    depth--;
}

void weft_consensus_close(void)
{
    while (!weft_list_is_empty(&all))
        free_consensus(WEFT_ELEMENT(all.next, consensus_t, link));
}
