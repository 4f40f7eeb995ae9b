// Nothing of it is checked.
#pragma once
