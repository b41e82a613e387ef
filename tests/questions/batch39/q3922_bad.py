import numpy as np
import torch
import torch.nn as nn


class CorridorEnv:
    """walk right along ten cells, the last cell pays 10 and ends the episode"""

    def reset(self):
        self.pos = 0
        return self._obs()

    def _obs(self):
        o = np.zeros(10, dtype=np.float32)
        o[self.pos] = 1.0
        return o

    def step(self, action):
        self.pos = min(9, max(0, self.pos + (1 if action == 1 else -1)))
        done = self.pos == 9
        return self._obs(), (10.0 if done else -0.1), done


class AgentPPO:
    def __init__(self, state_dim, action_dim, gamma=0.98, lambda_gae_adv=0.95):
        self.act = nn.Sequential(nn.Linear(state_dim, 32), nn.Tanh(), nn.Linear(32, action_dim))
        self.cri = nn.Sequential(nn.Linear(state_dim, 32), nn.Tanh(), nn.Linear(32, 1))
        self.optimizer = torch.optim.Adam([{"params": self.act.parameters(), "lr": 3e-3},
                                           {"params": self.cri.parameters(), "lr": 1e-2}])
        self.gamma, self.lambda_gae_adv = gamma, lambda_gae_adv

    def explore_env(self, env, target_step):
        states, actions, rewards, masks = [], [], [], []
        state, done = env.reset(), False
        while len(states) < target_step or not done:
            if done:
                state = env.reset()
            with torch.no_grad():
                action = torch.distributions.Categorical(logits=self.act(torch.from_numpy(state))).sample().item()
            next_state, reward, done = env.step(action)
            states.append(state), actions.append(action), rewards.append(reward)
            masks.append(0.0 if done else self.gamma)
            state = next_state
        return (torch.from_numpy(np.stack(states)), torch.tensor(actions),
                torch.tensor(rewards), torch.tensor(masks))

    def get_reward_sum_gae(self, buf_len, buf_reward, buf_mask, buf_value):
        buf_r_sum = torch.empty(buf_len)
        buf_advantage = torch.empty(buf_len)
        rest_r_sum, pre_advantage = 0.0, 0.0
        for i in range(buf_len - 1, -1, -1):
            buf_r_sum[i] = buf_reward[i] + buf_mask[i] * rest_r_sum
            rest_r_sum = buf_r_sum[i]
            buf_advantage[i] = buf_reward[i] + buf_mask[i] * (pre_advantage - buf_value[i])
            pre_advantage = buf_value[i] + buf_advantage[i] * self.lambda_gae_adv
        return buf_r_sum, buf_advantage

    def update_net(self, state, action, reward, mask):
        with torch.no_grad():
            value = self.cri(state).squeeze(1)
            old_logprob = torch.distributions.Categorical(logits=self.act(state)).log_prob(action)
        r_sum, advantage = self.get_reward_sum_gae(len(state), reward, mask, value)
        last = mask == 0
        stat = (advantage[last].mean().item(), advantage[~last].mean().item(), value[last].mean().item())
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-5)
        for _ in range(8):
            dist = torch.distributions.Categorical(logits=self.act(state))
            ratio = (dist.log_prob(action) - old_logprob).exp()
            obj_actor = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            obj_critic = nn.functional.smooth_l1_loss(self.cri(state).squeeze(1), r_sum)
            self.optimizer.zero_grad()
            (obj_actor + obj_critic - 0.01 * dist.entropy().mean()).backward()
            self.optimizer.step()
        return stat


torch.manual_seed(0)
agent, env = AgentPPO(10, 2), CorridorEnv()
for it in range(30):
    batch = agent.explore_env(env, 300)
    adv_last, adv_rest, v_last = agent.update_net(*batch)
    if it % 3 == 2:
        print(f"iter {it + 1} episodes {int((batch[3] == 0).sum())} advantage of last steps {adv_last:.2f} "
              f"of other steps {adv_rest:.2f} (critic at last steps {v_last:.2f})")
