/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_names.c - see run_names.h.
 *
 * A build has thousands of processes: profiles are opened only where there is a map.
 */
#include "cmd/run_names.h"

#include <unistd.h>

#include "cmd/run_found.h"
#include "profile/given_names.h"
#include "profile/given_write.h"
#include "profile/jit_files.h"
#include "profile/profile.h"

enum { PATH_SIZE = 4096 };

static void keep(const char *path)
{
	struct profile *profile;
	struct error ignored;

	if (!profile_open(path, &profile, &ignored))
		return;
	if (!profile->is_live && profile->given && profile->given->from == GIVEN_FROM_MAPS)
		given_write(path, &profile->given->jit, &ignored);
	profile_close(profile);
}

void run_names_keep(const char *folder, uint64_t run_id, pid_t main_pid)
{
	char current[PATH_SIZE] = "";
	struct run_found found;
	struct error ignored;

	if (!getcwd(current, sizeof(current)))
		current[0] = '\0';
	if (!run_found_collect(folder, run_id, main_pid, &found, &ignored))
		return;
	for (unsigned i = 0; i < found.count; i++)
		if (jit_files_exist(found.profiles[i].pid, current))
			keep(found.profiles[i].path);
	run_found_free(&found);
}
