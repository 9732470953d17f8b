/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a lock on a directory is: any user who can open a directory can lock it. */
#ifndef GPUFL_UPLOAD_SOURCE_LOCK_HOLDER_H
#define GPUFL_UPLOAD_SOURCE_LOCK_HOLDER_H

#include <stdbool.h>
#include <sys/types.h>

enum lock_viewer {
    LOCK_SEEN_BY_USER,
    LOCK_SEEN_BY_SERVICE,   /**< which is run by root or a service manager */
    LOCK_SEEN_BY_PUBLISHER, /**< a service that publishes what it serves, which keeps
                               other uploaders away */
};

/** True if the locks (flock) on the directory \p dir are known to be held by nobody but
 * users who have no say there: neither our user, nor root, nor the directory's owner,
 * nor, for a user, an account that services run as. A process with several user ids has
 * no say, nor has one that does not have the directory open or has ended, if a child kept
 * its lock. False in doubt: if the kernel does not name the holder, or hides it.
 *
 * Any user can make the list of all locks so long that it is not read to its end. Then a
 * user asks the processes themselves, of which only root can look into those of others; a
 * service does not, since it asks often. What nobody finds counts as others' then.
 *
 * Any user can make root hold a lock, by a program that asks for a password. So for a
 * publisher, what root holds, and whatever is in doubt, has no say either. */
bool lock_holder_is_foreign(int dir, enum lock_viewer viewer);

/** True if a process is seen to hold a lock on \p dir that is not foreign. It asks each
 * process. */
bool lock_holder_is_seen(int dir, enum lock_viewer viewer);

/** Looks among the holders of a lock on \p dir for an uploader: a process that has a
 * journal open. Only root can look into those of other users.
 * \return its pid, with its user; 0 if none was found. */
int lock_holder_uploader(int dir, uid_t *user);

#endif
