/* SPDX-License-Identifier: Apache-2.0 */
/* Looks whether the directory that libcurl was built for has names as OpenSSL looks for.
 */
#include "upload/http/system_trust.h"

#include <curl/curl.h>
#include <dirent.h>
#include <string.h>

/* A hash of the subject, and a number. A package makes them; a container may have nothing
 * but the file. */
static bool system_trust_is_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == 8 && name[8] == '.';
}

bool system_trust_has_names(void)
{
    const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
    bool finds = info->age >= CURLVERSION_SEVENTH && info->capath && info->ssl_version &&
                 strncmp(info->ssl_version, "OpenSSL/", 8) == 0;
    DIR *directory = finds ? opendir(info->capath) : NULL;
    bool found = false;
    for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
        found = system_trust_is_name(entry->d_name);
    }
    if (directory) {
        closedir(directory);
    }
    return found;
}
