# SPDX-License-Identifier: BSD-2-Clause
#
# Completion for bash.  tests/test_completion.py compares the options with `pmem help VERB`.

# The index of the program's name in COMP_WORDS after `pmem run`'s options, which begin at $1; 0: still among them.
_pmem_program() {
	local i
	for ((i = $1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-o | --output | --only) ((i++)) ;;
		--) ((i + 1 < COMP_CWORD)) && echo $((i + 1)) || echo 0; return ;;
		-*) ;;
		*) echo "$i"; return ;;
		esac
	done
	echo 0
}

_pmem_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_pmem_files() {
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
	compopt -o filenames 2>/dev/null
}

_pmem_commands() {
	mapfile -t COMPREPLY < <(compgen -c -- "$1")
}

# A program of the user's, and its own arguments.
_pmem_run() {
	local cur=$1 program
	program=$(_pmem_program "$2")
	if ((program > 0)) && declare -F _command_offset >/dev/null; then
		_command_offset "$program"
	elif ((program > 0)) || [[ $cur == */* ]]; then
		_pmem_files "$cur"
	elif [[ $cur == -* ]]; then
		_pmem_words '-o --output -q --quiet --no-log --only --no-children --sample --max-overhead --help' "$cur"
	else
		_pmem_commands "$cur"
	fi
}

_pmem_profiles() {
	local cur=$1
	shift
	if [[ $cur == -* ]]; then
		_pmem_words "$*" "$cur"
	else
		_pmem_files "$cur"
	fi
}

_pmem() {
	local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local verbs='run report leaks diff info top html serve bundle export push help'
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		_pmem_words "$verbs --help --version" "$cur"
		[[ ${#COMPREPLY[@]} -gt 0 || $cur == -* ]] || _pmem_run "$cur" 1
		return
	fi
	case ${COMP_WORDS[1]}:$previous in
	report:--by) _pmem_words 'live peak alloc count temporary growth' "$cur"; return ;;
	diff:--by) _pmem_words 'live peak alloc count temporary' "$cur"; return ;;
	diff:--top | diff:--focus | diff:--ignore | diff:--fail-over) return ;;
	top:--by) _pmem_words 'live growth churn blocks alloc temporary' "$cur"; return ;;
	top:--group) _pmem_words 'site function module' "$cur"; return ;;
	top:-d | top:--delay | top:-n | top:--count | top:--top | top:--filter) return ;;
	top:--sysroot | top:--debug-dir | top:--blame) _pmem_files "$cur"; return ;;
	leaks:--sysroot | leaks:--debug-dir | leaks:--blame | leaks:--suppressions) _pmem_files "$cur"; return ;;
	leaks:--top | leaks:--error-exitcode) return ;;
	export:--sysroot | export:--debug-dir | export:--blame) _pmem_files "$cur"; return ;;
	html:--sysroot | html:--debug-dir | html:--blame) _pmem_files "$cur"; return ;;
	serve:--sysroot | serve:--debug-dir | serve:--blame | serve:--token-file) _pmem_files "$cur"; return ;;
	serve:--port | serve:--listen | serve:--sites) return ;;
	bundle:--sysroot | bundle:--debug-dir | bundle:--blame) _pmem_files "$cur"; return ;;
	report:--sysroot | report:--debug-dir | report:--blame) _pmem_files "$cur"; return ;;
	diff:--sysroot | diff:--debug-dir | diff:--blame) _pmem_files "$cur"; return ;;
	report:--top | report:--focus | report:--ignore | report:--since | report:--until | run:--only) return ;;
	export:--format)
		_pmem_words 'log collapsed pprof speedscope massif dhat firefox heaptrack csv json' "$cur"
		return
		;;
	push:--to) _pmem_words 'pyroscope pyroscope-ingest parca otlp' "$cur"; return ;;
	push:--spool | push:--cacert | push:--cert | push:--key | push:--password-file | push:--bearer-file) _pmem_files "$cur"; return ;;
	push:--sysroot | push:--debug-dir | push:--blame) _pmem_files "$cur"; return ;;
	push:--every | push:--label | push:--spool-max | push:--give-up | push:--timeout | push:--max-stacks) return ;;
	push:--user | push:--header | push:--tenant) return ;;
	export:--value) _pmem_words 'live live_blocks alloc alloc_blocks peak temporary' "$cur"; return ;;
	run:-o | run:--output | html:-o | html:--output | bundle:-o | bundle:--output | export:-o | export:--output | leaks:-o | leaks:--output) _pmem_files "$cur"; return ;;
	esac
	case ${COMP_WORDS[1]} in
	run) _pmem_run "$cur" 2 ;;
	report)
		_pmem_profiles "$cur" --summary --by --top --tree --callers --bottom-up --leaks --peak --sizes \
			--lifetimes --threads --rss --mappings --pinned --advice --focus --ignore --since --until --all-frames --raw-names --source --frame-table \
			--sysroot --debug-dir --debuginfod --blame --json --csv --help
		;;
	leaks)
		_pmem_profiles "$cur" --at-exit --suppressions --error-exitcode --top --all-frames -o --output -q --quiet \
			--sysroot --debug-dir --debuginfod --blame --json --help
		;;
	diff)
		_pmem_profiles "$cur" --by --top --stacks --focus --ignore --fold-recursion --all-frames --raw-names \
			--mappings --fail-over --sysroot --debug-dir --debuginfod --blame --json --csv --help
		;;
	info) _pmem_profiles "$cur" --json --help ;;
	top)
		_pmem_profiles "$cur" -d --delay --by --group --filter --all-frames --mappings -b --batch -n --count --top \
			--sysroot --debug-dir --debuginfod --blame --help
		;;
	html)
		_pmem_profiles "$cur" -o --output --force --no-source -q --quiet --sysroot --debug-dir --debuginfod --blame --help
		;;
	serve)
		_pmem_profiles "$cur" --port --listen --token-file --sites --sysroot --debug-dir --debuginfod --blame --help
		;;
	bundle)
		_pmem_profiles "$cur" -o --output --source -q --quiet --sysroot --debug-dir --debuginfod --blame --help
		;;
	export)
		_pmem_profiles "$cur" --format --list-formats --value --mappings -o --output --sysroot --debug-dir --debuginfod --blame --help
		;;
	push)
		_pmem_profiles "$cur" --to --every --label --spool --spool-max --drain --give-up --timeout --now --max-stacks \
			--cacert --cert --key --insecure --user --password-file --bearer-file --header --tenant \
			--sysroot --debug-dir --debuginfod --blame -q --quiet --help
		;;
	help) _pmem_words "$verbs --help" "$cur" ;;
	*) _pmem_run "$cur" 1 ;;
	esac
}

complete -F _pmem pmem
