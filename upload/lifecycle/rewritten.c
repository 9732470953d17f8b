/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what was sent of a file with what stands there now. A time of change that is
 * the same proves little, as clocks of file systems are coarse: so before the end of a
 * session is reported, the bytes are compared once more. */
#include "upload/lifecycle/rewritten.h"

#include "upload/core/session_streams.h"

static bool rewritten_stream(const struct stream *st)
{
    const struct root *root = st->session->root;
    struct tail_where where = stream_where(st);
    bool known = st->head || st->session->layout != SESSION_SHIFTING;
    bool read = known && st->offset && st->kind == STREAM_BATCHED &&
                st->channel < root->channels.count && st->ended_file != st->file &&
                !stream_is_cut(st);
    enum file_match match =
        read ? tail_compare(root->engine->config.sys, &where) : FILE_MATCHES;
    return match == FILE_DIFFERS || match == FILE_SHORTER;
}

/* It is unpacked to be compared, which its next read does unless it knows the file. */
static bool rewritten_gz(struct stream *st)
{
    bool again = st->compared_ns && st->offset && st->session->layout == SESSION_LIVE;
    if (again) {
        st->known = (struct file_known){0};
    }
    return again;
}

bool rewritten_since(struct stream *st, const struct scan_channel *seen)
{
    if (st->compared_ns == seen->active_changed_ns) {
        return false;
    }
    bool gz = seen->has_active_gz && !seen->has_active;
    bool rewritten = gz ? rewritten_gz(st) : rewritten_stream(st);
    st->compared_ns = rewritten && !gz ? 0 : seen->active_changed_ns;
    st->all_read = st->all_read && !rewritten;
    return rewritten;
}

/* Whatever the next inspection sees, it is read again. */
static void rewritten_read_again(struct stream *st)
{
    st->compared_ns = 0;
    st->known = (struct file_known){0};
    st->all_read = false;
    st->rest = STREAM_PENDING;
}

bool rewritten_session(struct session *session)
{
    for (unsigned i = 0; i < session->streams; i++) {
        if (rewritten_stream(session->stream[i])) {
            rewritten_read_again(session->stream[i]);
            return true;
        }
    }
    return false;
}
