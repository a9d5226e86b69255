/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "survey.h"

struct survey survey;

bool survey_asks_for(enum target_kind kind)
{
	for (size_t i = 0; i < survey.n_patterns; i++)
		if (target_kind(survey.patterns[i]) == kind)
			return true;
	return false;
}
