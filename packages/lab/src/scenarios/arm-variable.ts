/** The name of an arm in an app's environment (ARM in apps/hop.js). */
export const armVariable = (arm: string): string => (arm === 'naive timeout' ? 'naive' : arm)
