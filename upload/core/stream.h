/* SPDX-License-Identifier: Apache-2.0 */
/* A stream: the files of one channel of one session, read in order. */
#ifndef GPUFL_UPLOAD_CORE_STREAM_H
#define GPUFL_UPLOAD_CORE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "upload/core/session.h"
#include "upload/journal/journal_records.h"
#include "upload/owners/queue.h"
#include "upload/source/scan_numbers.h"
#include "upload/source/tail.h"

/** In `seen` of a live stream, the size of the active file starts at this bit. */
#define STREAM_SEEN_SHIFT 9

struct offer;
struct sidecar;

/** Whether something of it is left, according to the last inspection or read. */
enum stream_rest {
    STREAM_PENDING,
    STREAM_DRAINED, /**< all of it is settled or offered */
    STREAM_MISSING, /**< its file had more at the last inspection, and is not there */
};

/** The end of a file that was read. */
struct stream_end {
    uint64_t head; /**< 0 = not known */
    uint64_t offset;
    struct record_mark mark;
    bool torn; /**< it is behind half a line */
};

/** How far the end of a line that is too long was looked for. */
struct stream_search {
    uint64_t head;  /**< of the file, as the stream's */
    uint64_t begin; /**< of the line */
    uint64_t end;   /**< until here there is no newline; 0 = nothing was searched */
    uint32_t crc;   /**< CRC-32C of what was searched, and behind it of the whole line */
    uint32_t file;
};

/** How far the file that holds what was sent was looked for, among those after `file`. */
struct stream_sought {
    uint64_t at; /**< which ends there */
    struct record_mark mark;
    uint32_t file;
    struct file_numbers *among; /**< its own; NULL = no search is under way */
    unsigned tried;             /**< of these */
};

/** A file that was read from its first byte on, in this run. */
struct stream_whole {
    struct file_known known;
    int64_t unchanged_since; /**< when its first byte was read; 0 = it proves nothing */
    uint64_t end;            /**< so far */
    uint32_t file;
};

/** What the last window of a channel tells of its end. */
enum last_window {
    LAST_WINDOW_UNREAD,
    LAST_WINDOW_ENDS,   /**< its writer wrote the shutdown */
    LAST_WINDOW_OPEN,   /**< it did not, in this window */
    LAST_WINDOW_SILENT, /**< it is gone, cannot be read, or was left by a killed writer */
};

/** How far the last window was read for that, in this run. */
struct stream_last {
    uint64_t offset;
    uint32_t file;
    uint8_t tells; /**< enum last_window */
};

/** How much of its file the last offer took. */
enum stream_took {
    STREAM_TOOK_PART,
    STREAM_TOOK_ALL,       /**< all there was */
    STREAM_TOOK_ALL_SO_FAR /**< and something has happened since */
};

/** Files of one channel of one session, read in order. */
struct stream {
    struct queue_node node;       /**< in the ready queue */
    struct stream *next_numbered; /**< see core/stream_numbers.h */
    struct session *session;
    struct offer *offer;          /**< the current one, or NULL */
    uint64_t due_ms;              /**< not before this */
    struct scan_numbers rotated;  /**< shifting layout: which numbers have a file */
    uint64_t seek_at_ms;          /**< held: when its end is compared again */
    uint64_t told_until_ms;       /**< grows with each end that the backend tells */
    uint64_t offset;              /**< settled bytes of file */
    uint64_t journal_file_ticket; /**< the record that named journal_file */
    uint64_t head; /**< identifies the file in the shifting layout; 0 = not known yet */
    struct file_known known;     /**< the file that was read last */
    uint64_t damaged;            /**< stamp of one that has no whole line behind offset */
    struct record_mark mark;     /**< of file, before offset */
    struct record_sealed sealed; /**< live: its newest sealed file, as it was seen;
                                    shifting layout: the file before, as it was read */
    struct record_end end;       /**< where it ends at the backend, by positions */
    struct stream_whole whole;
    struct stream_search search;
    struct stream_sought sought;
    struct stream_last last;  /**< 1.3 */
    struct stream_end before; /**< shifting layout: where the file before ended */
    uint64_t lines;
    uint64_t refused_lines;
    uint64_t holds_said;  /**< as in its session */
    uint64_t goal_offset; /**< of goal_file */
    uint64_t cut_at;      /**< with END_CUT: 1 + size of its active file when that was
                             found, 0 = it is not known */
    int64_t told_bytes;   /**< no more than that are in it; -1 = not told */
    uint64_t seen;        /**< what the last inspection saw of its files */
    int64_t active_changed_ns; /**< of its active file, at the last inspection */
    int64_t compared_ns; /**< time of change of its active file when what was sent of it
                            was last found there */
    uint64_t waits_since_ms; /**< no byte has been unsettled for longer than since then,
                                while it is not drained */
    uint64_t seal_read_ms;   /**< since when all of a sealed file is settled, and the next
                                one is not there, or, shifting layout, its number is
                                free; 0 = that is not so */
    uint64_t split_end;      /**< until this offset of file… */
    uint32_t split_lines;    /**< …no batch has more lines; 0 = no limit */
    uint64_t reached_offset; /**< of reached_file */
    uint32_t reached_file;   /**< how far an earlier backend got it, 0 = there was none */
    uint32_t file;           /**< settled file number, 1 or more */
    uint32_t journal_file;   /**< as the journal has it: may be less than file */
    uint32_t sequence;       /**< last one used */
    uint32_t id;             /**< its number in the journal, 0 = none yet */
    uint32_t highest;        /**< highest numbered file seen */
    uint32_t told_active;    /**< live: number of the active file that its writer noted in
                                the directory, 0 = none, or later files are there */
    uint32_t
        noted; /**< likewise, also if it was noted elsewhere, where it proves nothing */
    uint32_t there_highest; /**< highest numbered file in the directory, or told */
    uint32_t lowest;        /**< lowest numbered payload seen, 0 = none */
    uint32_t counted_file;  /**< last file counted in the summary */
    uint32_t goal_file;     /**< up to where it was when a run on demand saw it first, if
                               it is another user's; 0 = not known */
    uint32_t jump_crc;      /**< with jump: of its file up to its position */
    uint32_t again_file;    /**< 1.3: up to this one windows are offered again */
    uint32_t ended_file;    /**< of which a person gave up what cannot be read */
    struct tail_unreadable unreadable; /**< when it was last held */
    uint8_t index;       /**< shifting layout: number of file when last seen */
    uint8_t channel;     /**< index into the root's channel_name */
    uint8_t kind;        /**< enum stream_kind */
    uint8_t layout;      /**< 1 + enum session_layout in the journal, 0 = not there */
    uint8_t hold_reason; /**< enum held_reason; the last one that was logged */
    uint8_t asked_for;   /**< enum held_reason; why its end was asked for */
    /* Many sessions wait at once: flags are single bits. */
    bool queued : 1;
    bool told : 1; /**< live: its writer noted numbers in the directory that count */
    bool held : 1; /**< until something changes in the directory */
    bool keep : 1; /**< part of it was accepted without proof that it is stored */
    bool bulk : 1; /**< its last batch was full */
    bool gap : 1;  /**< its first lines, or files of it, were gone before they
                       were read */
    bool lost : 1; /**< a person gave up part of it */
    bool lost_after : 1; /**< what follows its farthest end was declared lost, which its
                            files need not tell */
    bool rest_lost : 1;  /**< that is all that is lost: own files have just what the
                            backend had by then */
    bool all_read : 1;   /**< everything up to `seen` was read */
    bool positions : 1;  /**< it goes by positions, for good */
    bool unproved : 1;   /**< the backend has told another end, or its own is void */
    bool voided : 1;     /**< its files are not as they were at its end */
    bool checked : 1;    /**< for the next claim, the file of its end is as it was sent */
    bool jump_measured : 1; /**< jump_crc is known */
    bool jump : 1;          /**< what lies between its end and its position is lost */
    bool delivered : 1;     /**< its session was complete when it ended here */
    bool reopens : 1;       /**< the backend takes its session for complete */
    bool owned : 1;         /**< likewise, whatever is sent: it knows the owner */
    bool at_shutdown : 1;   /**< its next line, or its last, is the channel's shutdown */
    bool sent : 1;          /**< something of it was settled in this run */
    bool enough : 1;        /**< what was there at first is sent: the rest is left */
    bool unfinished : 1;    /**< its last line was not whole when it was read */
    bool unbegun : 1;       /**< live: its writer ended before it began the active file */
    uint8_t told_fit : 2;   /**< enum told_fit: its active file, at the last inspection */
    uint8_t rest : 2;       /**< enum stream_rest */
    uint8_t took : 2;       /**< enum stream_took */
};

/** \return the stream that holds \p node; NULL for NULL. */
struct stream *stream_of(struct queue_node *node);

const char *stream_channel(const struct stream *stream);

/** \return where the stream is to be read. */
struct tail_where stream_where(const struct stream *stream);

/** \return where a 1.3 window of it is to be read. */
struct tail_where stream_where_window(const struct stream *stream, uint32_t file);

/** Reads the sidecar of that window. \return GPUFL_OK if it is valid. */
GPUFL_MUST gpufl_status stream_read_sidecar(const struct stream *stream, uint32_t file,
                                            struct sidecar *out);

/** \return true if it is not as far as it was sent to an earlier backend: unless there is
 * more to read, part of its files was deleted since. */
bool stream_falls_short(const struct stream *stream);

/** \return true if nothing is missing at that place, although no file is there: its
 * writer ended between two files. */
bool stream_is_unbegun(const struct stream *stream, uint32_t file, uint64_t offset);

/** \return true if a person gave up what cannot be read of that file. */
bool stream_gave_up(const struct stream *stream, uint32_t file);

/** \return true if no window of a 1.3 channel, and no sidecar, was ever seen. */
bool stream_is_unseen(const struct stream *stream);

/** \return true if all of its newest sealed file is settled, and its writer, which is not
 * known to be gone, has not made the next one. */
bool stream_is_between_files(const struct stream *stream);

/** \return true if its writer is gone and has written nothing behind that place, as it
 * has noted itself: another tool that compressed its active file has got all of it. */
bool stream_packed_is_whole(const struct stream *stream, uint32_t file, uint64_t offset);

/** \return true if all of it is to be sent again, and nothing has been. */
bool stream_begins_again(const struct stream *stream);

/** \return true if it may go by positions: windows have identities of their own. */
bool stream_takes_positions(const struct stream *stream);

/** \return true if it is known where it ends at the backend, or that it does not go by
 * positions. If the backend has gone back since, it says so when more is sent. */
bool stream_knows_end(const struct stream *stream);

/** \return true if by its own word that is where it ends at the backend. One
 * of which a person gave up the first files before anything was sent ends at nothing. */
bool stream_ends_at(const struct stream *stream, const struct stream_place *place);

/** \return true if the backend was told that lines of it are lost, and nobody gave them
 * up here: others told it, or the backend went back behind files that were deleted here
 * once they were sent. It takes them no more. */
bool stream_is_lost_elsewhere(const struct stream *stream);

/** \return why lines of it that the backend was told to be lost keep its session from
 * its end: others said so, or they were given up here and all is to be sent again
 * nevertheless; HELD_NOT = they do not. */
enum held_reason stream_lost_reason(const struct stream *stream);

/** Says it, if it is so. */
void stream_say_lost_elsewhere(const struct stream *stream);

/** \return true if its file ends before its end, as it was when that was found. */
bool stream_is_cut(const struct stream *stream);

/** \return the number of the newest sealed file. An earlier copy of the directory has had
 * fewer than the journal knows. */
uint32_t stream_newest_sealed(const struct stream *stream);

/** \return true if its directory is an earlier copy, as its writer had not come to
 * its position: all of it was sent. */
bool stream_is_earlier_copy(const struct stream *stream);

/** \return true if its directory has fewer sealed files than the journal knows, and its
 * writer told nothing that counts: it is an earlier copy, or those were deleted. */
bool stream_may_be_earlier_copy(const struct stream *stream);

/** \return the stream as a record of the journal. */
struct record_stream stream_record(const struct stream *stream);

/** Adds it to the queue of live streams or of the backlog, due at \p due_ms. A stream
 * that is queued already keeps its place and takes the earlier time. */
void stream_enqueue(struct stream *stream, bool live, uint64_t due_ms);

/** Has it go on in a later turn, as the engine's gz_cache is busy. */
void stream_decode_on(struct stream *stream);

/** Notes that something happened to its files since its offer was made. */
void stream_note_growth(struct stream *stream);

/** Its file is not there or not as it was, which is \p reason to hold it. If it goes by
 * positions, the backend may tell where it goes on. \return true if that is to be asked
 * first. */
bool stream_asks_first(struct stream *stream, enum held_reason reason);

/** Holds this channel until something changes in the directory; the others go on. */
void stream_hold(struct stream *stream, enum held_reason reason);

/** Looks whether something is to be mended for it to be read at \p file. \return
 * HELD_CLOSED if that is the mode of a file, HELD_IN_THE_WAY if what has its name is
 * none, and the active file can be read; HELD_NOT. */
enum held_reason stream_unreadable(struct stream *stream, uint32_t file);

/** What stands in its way, for people, if that is \p reason. \p stream: NULL = no file is
 * named. */
void stream_hold_text(const struct stream *stream, enum held_reason reason,
                      char out[HELD_TEXT_MAX]);

/** \return true if it is held, or was and is to be tried again, which tells whether the
 * reason is gone: until then, people are told that it is held. */
bool stream_hold_stands(const struct stream *stream);

/** \return true if it, or its session, waits for a change in the directory, or for the
 * directory. */
bool stream_held(const struct stream *stream);

/** \return true if it waits for a change in the directory, an inspection of that, the
 * workspace's limit or the journal. */
bool stream_waits(const struct stream *stream, uint64_t now_ms);

/** \return the size of its active file at the last inspection; 0 if not known. */
uint64_t stream_seen_bytes(const struct stream *stream);

/** Notes up to where a run on demand is to send it, if it is another user's: one that
 * grows all the time would keep the run from its end. */
void stream_note_goal(struct stream *stream, uint64_t active_bytes, bool known);

/** \return true if it has been sent up to there, and there is more. */
bool stream_has_enough(const struct stream *stream);

/** \return true if its files are deleted once the backend has stored them. */
bool stream_deletes(const struct stream *stream);

/** Counts \p lines acknowledged lines of the stream, of whose session the backend has
 * heard. */
void stream_count_acked(const struct stream *stream, uint32_t lines, uint64_t now_ms);

#endif
