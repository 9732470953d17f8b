/* SPDX-License-Identifier: Apache-2.0 */
/* The database's tables and statements; included by store_statement.c alone.
 * synchronous=FULL: an answer means that the commit is on disk. */
#ifndef GPUFL_BACKEND_STORE_STORE_SCHEMA_H
#define GPUFL_BACKEND_STORE_STORE_SCHEMA_H

#include "backend/store/store_version.h"

#define STORE_TEXT_(x) #x
#define STORE_TEXT(x)  STORE_TEXT_(x)

#define STORE_PRAGMAS "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"

/* All of it in one transaction: a database is what it was, or of this version. */
#define STORE_MARKS                                                                      \
    "PRAGMA application_id=" STORE_TEXT(                                                 \
        STORE_APPLICATION) "; PRAGMA user_version=" STORE_TEXT(STORE_VERSION)

#define STORE_TABLES                                                                     \
    "CREATE TABLE IF NOT EXISTS session(id INTEGER PRIMARY KEY, sid TEXT NOT NULL"       \
    " UNIQUE, app TEXT NOT NULL DEFAULT '', hostname TEXT NOT NULL DEFAULT '',"          \
    " kind TEXT NOT NULL DEFAULT '', gpus TEXT NOT NULL DEFAULT '', start_ns"            \
    " INTEGER NOT NULL DEFAULT 0, shutdown_ns INTEGER NOT NULL DEFAULT 0,"               \
    " first_seen_ms INTEGER NOT NULL, last_seen_ms INTEGER NOT NULL, complete"           \
    " INTEGER NOT NULL DEFAULT 0, lines INTEGER NOT NULL DEFAULT 0, raw_bytes"           \
    " INTEGER NOT NULL DEFAULT 0, stored_bytes INTEGER NOT NULL DEFAULT 0,"              \
    " rejected INTEGER NOT NULL DEFAULT 0, duplicates INTEGER NOT NULL DEFAULT 0,"       \
    " first_ns INTEGER NOT NULL DEFAULT 0, last_ns INTEGER NOT NULL DEFAULT 0,"          \
    " metrics INTEGER NOT NULL DEFAULT 0);"                                              \
    "CREATE TABLE IF NOT EXISTS body(id INTEGER PRIMARY KEY, session INTEGER NOT"        \
    " NULL REFERENCES session(id), channel TEXT NOT NULL, sequence INTEGER,"             \
    " window_id TEXT UNIQUE, crc32 INTEGER, encoding INTEGER NOT NULL, lines"            \
    " INTEGER NOT NULL, raw_bytes INTEGER NOT NULL, received_ms INTEGER NOT NULL,"       \
    " newest_ns INTEGER NOT NULL, data BLOB NOT NULL);"                                  \
    "CREATE INDEX IF NOT EXISTS session_seen ON session(last_seen_ms);"                  \
    "CREATE UNIQUE INDEX IF NOT EXISTS body_order ON body(session, channel,"             \
    " sequence);"                                                                        \
    "CREATE TABLE IF NOT EXISTS channel(session INTEGER NOT NULL, name TEXT NOT"         \
    " NULL, lines INTEGER NOT NULL, raw_bytes INTEGER NOT NULL, bodies INTEGER"          \
    " NOT NULL, numbered INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER"         \
    " NOT NULL, PRIMARY KEY(session, name)) WITHOUT ROWID;"                              \
    "CREATE TABLE IF NOT EXISTS name(session INTEGER NOT NULL, dictionary INTEGER"       \
    " NOT NULL, id INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY(session,"           \
    " dictionary, id)) WITHOUT ROWID;"                                                   \
    "CREATE TABLE IF NOT EXISTS tally(session INTEGER NOT NULL, kind INTEGER NOT"        \
    " NULL, a INTEGER NOT NULL, b INTEGER NOT NULL, c INTEGER NOT NULL, count"           \
    " INTEGER NOT NULL, total INTEGER NOT NULL, min INTEGER NOT NULL, max INTEGER"       \
    " NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY(session, kind, a, b, c))"            \
    " WITHOUT ROWID;"                                                                    \
    "CREATE TABLE IF NOT EXISTS series(id INTEGER PRIMARY KEY, session INTEGER"          \
    " NOT NULL, kind INTEGER NOT NULL, device INTEGER NOT NULL, first_ns INTEGER"        \
    " NOT NULL, last_ns INTEGER NOT NULL, rows INTEGER NOT NULL, metrics INTEGER"        \
    " NOT NULL, data BLOB NOT NULL);"                                                    \
    "CREATE INDEX IF NOT EXISTS series_time ON series(session, kind, device,"            \
    " first_ns, last_ns);"                                                               \
    "CREATE TABLE IF NOT EXISTS text(session INTEGER NOT NULL, which INTEGER NOT"        \
    " NULL, line TEXT NOT NULL, PRIMARY KEY(session, which)) WITHOUT ROWID;"             \
    "CREATE TABLE IF NOT EXISTS origin(id TEXT NOT NULL);"                               \
    "CREATE TABLE IF NOT EXISTS stream(sid TEXT NOT NULL, channel TEXT NOT NULL,"        \
    " file INTEGER NOT NULL, offset INTEGER NOT NULL, lines INTEGER NOT NULL, crc"       \
    " INTEGER NOT NULL, file_crc INTEGER NOT NULL, losses INTEGER NOT NULL, skips"       \
    " INTEGER NOT NULL, lost_after INTEGER NOT NULL, expired INTEGER NOT NULL,"          \
    " PRIMARY KEY(sid, channel)) WITHOUT ROWID;"                                         \
    "CREATE TABLE IF NOT EXISTS part(id INTEGER PRIMARY KEY, session INTEGER NOT"        \
    " NULL, channel TEXT NOT NULL, file INTEGER NOT NULL, offset INTEGER NOT NULL,"      \
    " lines INTEGER NOT NULL, crc INTEGER NOT NULL, file_crc INTEGER NOT NULL,"          \
    " end_file INTEGER NOT NULL, end_offset INTEGER NOT NULL, end_lines INTEGER NOT"     \
    " NULL, end_crc INTEGER NOT NULL, end_file_crc INTEGER NOT NULL, body INTEGER,"      \
    " lost_file INTEGER, lost_offset INTEGER);"                                          \
    "CREATE INDEX IF NOT EXISTS part_place ON part(session, channel, file, offset);"     \
    "CREATE TABLE IF NOT EXISTS alive(session INTEGER PRIMARY KEY, told_ms INTEGER"      \
    " NOT NULL, last_byte_ms INTEGER NOT NULL);"                                         \
    "CREATE TABLE IF NOT EXISTS clock(id INTEGER PRIMARY KEY, boot TEXT NOT NULL,"       \
    " offset_ms INTEGER, unset_offset_ms INTEGER);"                                      \
    "CREATE TABLE IF NOT EXISTS claimant(session INTEGER PRIMARY KEY, owner INTEGER"     \
    " NOT NULL);"

static const char *const sql[S_COUNT] = {
    [S_BEGIN] = "BEGIN IMMEDIATE",
    [S_COMMIT] = "COMMIT",
    [S_ROLLBACK] = "ROLLBACK",
    /* Anybody who can read an id can send it with a session of his own: it counts in that
     * one alone. The column is unique over all sessions since version 2, and a table of
     * all that was stored is not copied to change that: what is new has the session in
     * front, with a character that no id contains. */
    [S_BY_ID] = "SELECT crc32, channel, sequence FROM body WHERE window_id ="
                " (SELECT id || '/' || ?2 FROM session WHERE sid = ?1) UNION ALL"
                " SELECT crc32, channel, sequence FROM body JOIN session"
                " ON session.id = body.session WHERE window_id = ?2 AND sid = ?1",
    [S_BY_SEQUENCE] = "SELECT 1 FROM body JOIN session ON session.id = body.session"
                      " WHERE sid = ?1 AND channel = ?2 AND sequence = ?3",
    [S_TOUCH] = "INSERT INTO session(sid, first_seen_ms, last_seen_ms) VALUES(?1, ?2, ?2)"
                " ON CONFLICT(sid) DO UPDATE SET last_seen_ms = ?2, complete = 0",
    [S_SESSION_ID] = "SELECT id FROM session WHERE sid = ?1",
    [S_BODY] = "INSERT INTO body(session, channel, sequence, window_id, crc32, encoding,"
               " lines, raw_bytes, received_ms, newest_ns, data)"
               " VALUES(?1, ?2, ?3, ?1 || '/' || ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    [S_DESCRIBE] = "UPDATE session SET lines = lines + ?2, raw_bytes = raw_bytes + ?3,"
                   " stored_bytes = stored_bytes + ?4, rejected = rejected + ?5,"
                   " app = CASE WHEN app = '' THEN ?6 ELSE app END,"
                   " hostname = CASE WHEN hostname = '' THEN ?7 ELSE hostname END,"
                   " kind = CASE WHEN kind = '' THEN ?8 ELSE kind END,"
                   " gpus = CASE WHEN gpus = '' THEN ?11 ELSE gpus END,"
                   " start_ns = CASE WHEN start_ns = 0 THEN ?9 ELSE start_ns END,"
                   " shutdown_ns = max(shutdown_ns, ?10),"
                   " first_ns = CASE WHEN ?12 <> 0 AND (first_ns = 0 OR ?12 < first_ns)"
                   " THEN ?12 ELSE first_ns END, last_ns = max(last_ns, ?13),"
                   " metrics = metrics | ?14 WHERE id = ?1",
    [S_COMPLETE] = "UPDATE session SET complete = ?2 WHERE sid = ?1",
    [S_LIST] =
        "SELECT id, sid, app, hostname, kind, start_ns, shutdown_ns, first_seen_ms,"
        " last_seen_ms, complete, lines, raw_bytes, stored_bytes, rejected, gpus,"
        " duplicates, (SELECT ifnull(sum(last - numbered), 0) FROM channel"
        " WHERE channel.session = session.id), ifnull(told_ms, 0),"
        " ifnull(last_byte_ms, 0),"
        " (SELECT ifnull(sum(losses), 0) FROM stream WHERE stream.sid = session.sid),"
        " (SELECT ifnull(sum(skips), 0) FROM stream WHERE stream.sid = session.sid)"
        " FROM session LEFT JOIN alive ON"
        " alive.session = session.id WHERE ?1 IS NULL OR sid = ?1"
        " ORDER BY start_ns DESC, id DESC LIMIT ?2 OFFSET ?3",
    [S_CHANNELS] = "SELECT name, lines, raw_bytes, bodies, first, last FROM channel"
                   " WHERE session = ?1 ORDER BY name",
    [S_CHANNEL] = "INSERT INTO channel VALUES(?1, ?2, ?3, ?4, 1, ?5 > 0, ?5, ?5)"
                  " ON CONFLICT DO UPDATE SET lines = lines + ?3,"
                  " raw_bytes = raw_bytes + ?4, bodies = bodies + 1,"
                  " numbered = numbered + (?5 > 0), first = CASE WHEN first = 0 OR"
                  " (?5 > 0 AND ?5 < first) THEN ?5 ELSE first END, last = max(last, ?5)",
    [S_BODIES] = "SELECT id FROM body WHERE session = ?1 AND channel = ?2"
                 " ORDER BY sequence IS NULL, sequence, id",
    [S_BODY_DATA] = "SELECT encoding, data FROM body WHERE id = ?1",
    [S_DUPLICATE] = "UPDATE session SET duplicates = duplicates + 1 WHERE sid = ?1",
    [S_REJECT] = "UPDATE session SET rejected = rejected + ?2 WHERE sid = ?1",
    [S_DELIVERY] = "SELECT channel, ifnull(sequence, 0), lines, received_ms, newest_ns"
                   " FROM body WHERE session = ?1 ORDER BY channel, sequence",
    /* ?1, ?2: one that is not complete and of which something was heard between these
     * is live, and goes last. ?3: those of before are not looked at. */
    [S_OLDEST] = "SELECT id, sid, last_seen_ms, (SELECT count(*) FROM session)"
                 " FROM session WHERE last_seen_ms >= ?3 AND (complete <> 0 OR"
                 " ((last_seen_ms < ?1 OR last_seen_ms >= ?2) AND NOT EXISTS"
                 " (SELECT 1 FROM alive WHERE alive.session = session.id AND"
                 " told_ms >= ?1 AND told_ms < ?2))) ORDER BY last_seen_ms, id LIMIT 1",
    [S_MOVE_SEEN] = "UPDATE session SET last_seen_ms = last_seen_ms + ?1"
                    " WHERE last_seen_ms > ?2 AND last_seen_ms <= ?3",
    [S_MOVE_TOLD] = "UPDATE alive SET told_ms = told_ms + ?1,"
                    " last_byte_ms = last_byte_ms + ?1"
                    " WHERE told_ms > ?2 AND told_ms <= ?3",
    [S_OLDEST_LIVE] = "SELECT id, sid, last_seen_ms, (SELECT count(*) FROM session)"
                      " FROM session WHERE last_seen_ms >= ?3"
                      " ORDER BY last_seen_ms, id LIMIT 1",
    [S_CLOCK] = "SELECT offset_ms, unset_offset_ms FROM clock WHERE boot = ?1",
    [S_CLOCK_NOTE] = "INSERT OR REPLACE INTO clock VALUES(1, ?1, ?2, ?3)",
    [S_SEEN_AT] = "UPDATE session SET last_seen_ms = ?1 WHERE last_seen_ms < ?2",
    [S_FORGET_TOLD] = "DELETE FROM alive WHERE told_ms < ?1",
    [S_DELETE_BODIES] = "DELETE FROM body WHERE id IN (SELECT id FROM body"
                        " WHERE session = ?1 ORDER BY channel, sequence LIMIT ?2)",
    [S_DELETE_SERIES] = "DELETE FROM series WHERE session = ?1",
    [S_DELETE_TALLIES] = "DELETE FROM tally WHERE session = ?1",
    [S_DELETE_NAMES] = "DELETE FROM name WHERE session = ?1",
    [S_DELETE_CHANNELS] = "DELETE FROM channel WHERE session = ?1",
    [S_DELETE_TEXTS] = "DELETE FROM text WHERE session = ?1",
    [S_DELETE_SESSION] = "DELETE FROM session WHERE id = ?1",
    [S_BYTES] = "SELECT (page_count - freelist_count) * page_size"
                " FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()",
    [S_NAME] = "INSERT OR IGNORE INTO name VALUES(?1, ?2, ?3, ?4)",
    [S_TALLY] = "INSERT INTO tally VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
                " ON CONFLICT DO UPDATE SET count = count + ?6, total = total + ?7,"
                " min = min(min, ?8), max = max(max, ?9), bytes = bytes + ?10",
    [S_TABLE] = "INSERT INTO series(session, kind, device, first_ns, last_ns, rows,"
                " metrics, data) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [S_TEXT] = "INSERT OR REPLACE INTO text VALUES(?1, ?2, ?3)",
    [S_TEXT_FIRST] = "INSERT OR IGNORE INTO text VALUES(?1, ?2, ?3)",
    [S_TALLIES] = "SELECT a, b, c, count, total, min, max, bytes, text FROM tally"
                  " LEFT JOIN name ON name.session = ?1 AND dictionary = ?3 AND"
                  " name.id = a WHERE tally.session = ?1 AND kind = ?2"
                  " ORDER BY total DESC, a, b, c LIMIT ?4 OFFSET ?5",
    [S_TALLY_SUM] = "SELECT count(*), ifnull(sum(count), 0), ifnull(sum(total), 0)"
                    " FROM tally WHERE session = ?1 AND kind = ?2",
    [S_TALLIES_BY_NAME] =
        "SELECT sum(count), sum(total), min(min), max(max), text FROM tally"
        " LEFT JOIN name ON name.session = ?1 AND dictionary = ?3 AND name.id = a"
        " WHERE tally.session = ?1 AND kind = ?2 GROUP BY text"
        " ORDER BY sum(total) DESC, text LIMIT ?4 OFFSET ?5",
    [S_TABLES] = "SELECT device, first_ns, last_ns, rows, metrics, data FROM series"
                 " WHERE session = ?1 AND kind = ?2 AND last_ns >= ?3 AND first_ns <= ?4"
                 " ORDER BY device, first_ns, id",
    [S_SERIES] = "SELECT first_ns, last_ns, metrics FROM session WHERE id = ?1",
    [S_NAME_OF] = "SELECT text FROM name WHERE session = ?1 AND dictionary = ?2"
                  " AND id = ?3",
    [S_TEXT_OF] = "SELECT line FROM text WHERE session = ?1 AND which = ?2",
    [S_TRY] = "INSERT OR REPLACE INTO text VALUES(0, 0, zeroblob(?1))",
    [S_TRIED] = "DELETE FROM text WHERE session = 0",
    [S_ORIGIN_NEW] = "INSERT INTO origin SELECT ?1 WHERE NOT EXISTS"
                     " (SELECT 1 FROM origin)",
    [S_ORIGIN] = "SELECT id FROM origin",
    [S_STATE] = "SELECT complete FROM session WHERE sid = ?1",
    /* ?3 to ?6: begin, ?7 to ?10: end, ?11: a loss, ?12: a skip, ?13: reopens. A stream
     * without a row ends at (1, 0), unless it began without positions. */
    [S_MOVE_END] =
        "INSERT INTO stream SELECT ?1, ?2, ?7, ?8, ?9, ?10, 0, ?11, ?12, 0, 0"
        " WHERE (EXISTS (SELECT 1 FROM stream WHERE sid = ?1 AND channel = ?2) OR"
        " (?3 = 1 AND ?4 = 0 AND ?5 = 0 AND ?6 = 0 AND NOT EXISTS (SELECT 1 FROM"
        " session JOIN channel ON channel.session = session.id WHERE sid = ?1 AND"
        " name = ?2))) AND (?13 OR NOT EXISTS (SELECT 1 FROM session LEFT JOIN claimant"
        " ON claimant.session = session.id WHERE sid = ?1 AND (complete <> 0 OR"
        " owner IS NOT NULL))) AND NOT EXISTS (SELECT 1 FROM stream WHERE sid = ?1 AND"
        " expired <> 0)"
        " ON CONFLICT(sid, channel) DO UPDATE SET file = ?7, offset = ?8, lines = ?9,"
        " crc = ?10, losses = losses + ?11, skips = skips + ?12, lost_after = 0"
        " WHERE file = ?3 AND offset = ?4 AND lines = ?5 AND crc = ?6",
    [S_FILE_CRC] = "UPDATE stream SET file_crc = ?3 WHERE sid = ?1 AND channel = ?2",
    [S_STREAM] = "SELECT 1 FROM stream WHERE sid = ?1 AND channel = ?2",
    /* A session was deleted as a whole, with the channels that were to come. */
    [S_STREAM_END] =
        "SELECT ifnull(file, 1), offset, lines, crc, file_crc, losses, skips,"
        " lost_after, any_expired FROM (SELECT max(expired) AS any_expired FROM"
        " stream WHERE sid = ?1) LEFT JOIN stream ON sid = ?1 AND channel = ?2",
    [S_STREAMS] = "SELECT channel, file, offset, lines, crc, file_crc, losses, skips,"
                  " lost_after, expired FROM stream WHERE sid = ?1 ORDER BY channel",
    [S_IS_WINDOWED] = "SELECT 1 FROM session JOIN channel ON channel.session ="
                      " session.id WHERE sid = ?1 AND name = ?2 AND NOT EXISTS (SELECT"
                      " 1 FROM stream WHERE sid = ?1 AND channel = ?2)",
    [S_WINDOWED] = "SELECT name FROM session JOIN channel ON channel.session = session.id"
                   " WHERE sid = ?1 AND NOT EXISTS (SELECT 1 FROM stream WHERE"
                   " stream.sid = ?1 AND stream.channel = name) ORDER BY name",
    [S_PART] = "INSERT INTO part VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
               " ?11, ?12, ?13, ?14, ?15)",
    [S_PLACE] = "SELECT file, offset, lines, crc, file_crc, end_file, end_offset,"
                " end_lines, end_crc, end_file_crc, body FROM part WHERE session ="
                " (SELECT id FROM session WHERE sid = ?1) AND channel = ?2 AND"
                " file = ?3 AND offset <= ?4 ORDER BY id DESC LIMIT 1",
    /* Of a channel of which nothing is stored, that is all there is to keep. */
    [S_LOST_AFTER] =
        "INSERT INTO stream SELECT sid, ?2, 1, 0, 0, 0, 0, 0, 0, 1, 0 FROM session"
        " WHERE sid = ?1 AND (EXISTS (SELECT 1 FROM stream WHERE sid = ?1 AND"
        " channel = ?2) OR NOT EXISTS (SELECT 1 FROM channel WHERE"
        " channel.session = session.id AND name = ?2))"
        " ON CONFLICT(sid, channel) DO UPDATE SET lost_after = 1",
    [S_EXPIRE] = "UPDATE stream SET expired = 1 WHERE sid = (SELECT sid FROM session"
                 " WHERE id = ?1)",
    [S_DELETE_PARTS] = "DELETE FROM part WHERE session = ?1",
    [S_ALIVE] = "INSERT OR REPLACE INTO alive SELECT id, ?2, ?3 FROM session"
                " WHERE sid = ?1",
    /* The first one that had it complete: another one could have copied its files. */
    [S_CLAIMANT_NOTE] = "INSERT OR IGNORE INTO claimant SELECT id, ?2 FROM session"
                        " WHERE sid = ?1",
    [S_CLAIMANT] = "SELECT owner FROM claimant WHERE session ="
                   " (SELECT id FROM session WHERE sid = ?1)",
    [S_OWNED_WITHOUT] = "SELECT 1 FROM claimant JOIN session ON session.id ="
                        " claimant.session WHERE sid = ?1 AND NOT EXISTS (SELECT 1 FROM"
                        " channel WHERE channel.session = session.id AND name = ?2)",
    [S_DELETE_CLAIMANT] = "DELETE FROM claimant WHERE session = ?1",
    [S_DELETE_ALIVE] = "DELETE FROM alive WHERE session = ?1",
};

#endif
