# SPDX-License-Identifier: BSD-2-Clause
#
# Completion for fish.  tests/test_completion.py compares the options with `pmem help VERB`.

set -l verbs run report info export help

complete -c pmem -n "not __fish_seen_subcommand_from $verbs" -l help -d 'Help'
complete -c pmem -n "not __fish_seen_subcommand_from $verbs" -l version -d 'Version'
complete -c pmem -f -n __fish_use_subcommand -a run -d 'Run a program, record its heap'
complete -c pmem -f -n __fish_use_subcommand -a report -d 'Say who holds the memory'
complete -c pmem -f -n __fish_use_subcommand -a info -d 'Say what was recorded, and at which cost'
complete -c pmem -f -n __fish_use_subcommand -a export -d 'Write a profile in another format'
complete -c pmem -f -n __fish_use_subcommand -a help -d 'Explain pmem or one of its commands'

set -l run '__fish_seen_subcommand_from run'
complete -c pmem -n $run -s o -l output -r -F -d 'Name of the profile'
complete -c pmem -n $run -s q -l quiet -d 'No summary at the end'
complete -c pmem -n $run -l no-log -d 'No text log, only the profile'
complete -c pmem -n $run -l only -x -d 'Record only programs with a matching name'
complete -c pmem -n $run -l no-children -d 'Record only the started process'
complete -c pmem -n $run -l help -d 'Help'
complete -c pmem -n $run -a '(__fish_complete_subcommand --fcs-skip=2)'

set -l report '__fish_seen_subcommand_from report'
complete -c pmem -n $report -l summary -d 'The answer, the largest sites, the heaviest call stack'
complete -c pmem -n $report -l by -x -a 'live peak alloc count temporary growth' -d 'Sort by'
complete -c pmem -n $report -l top -x -d 'At most so many rows'
complete -c pmem -n $report -l tree -d 'Call stacks from main() down'
complete -c pmem -n $report -l callers -d 'Call stacks from the allocation sites up'
complete -c pmem -n $report -l bottom-up -d 'As --callers'
complete -c pmem -n $report -l leaks -d 'What was live at exit'
complete -c pmem -n $report -l peak -d 'What the peak consisted of'
complete -c pmem -n $report -l sizes -d 'Sizes of the blocks'
complete -c pmem -n $report -l lifetimes -d 'How long blocks lived'
complete -c pmem -n $report -l threads -d 'Who allocated and freed'
complete -c pmem -n $report -l focus -x -d 'Only call stacks with a matching frame'
complete -c pmem -n $report -l ignore -x -d 'Only call stacks without a matching frame'
complete -c pmem -n $report -l since -x -d 'Begin of the interval'
complete -c pmem -n $report -l until -x -d 'End of the interval'
complete -c pmem -n $report -l all-frames -d 'Also frames of runtimes'
complete -c pmem -n $report -l raw-names -d 'Names as in the symbol tables'
complete -c pmem -n $report -l source -d 'Source lines'
complete -c pmem -n $report -l json -d 'As JSON'
complete -c pmem -n $report -l csv -d 'As CSV'
complete -c pmem -n $report -l help -d 'Help'

set -l info '__fish_seen_subcommand_from info'
complete -c pmem -n $info -l json -d 'As JSON'
complete -c pmem -n $info -l help -d 'Help'

set -l export '__fish_seen_subcommand_from export'
complete -c pmem -n $export -l format -x -a log -d 'Format'
complete -c pmem -n $export -s o -l output -r -F -d 'File to write'
complete -c pmem -n $export -l help -d 'Help'

set -l help '__fish_seen_subcommand_from help'
complete -c pmem -f -n $help -a "$verbs"
complete -c pmem -n $help -l help -d 'Help'
