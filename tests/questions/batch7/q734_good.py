import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

TOKENS = ["<", ">", "C", "N", "O", "F"]


class StackAugmentedRNN(nn.Module):
    def __init__(self, n_tokens=6, hidden_size=32, lr=0.01):
        super().__init__()
        self.encoder = nn.Embedding(n_tokens, hidden_size)
        self.rnn = nn.GRU(hidden_size, hidden_size)
        self.decoder = nn.Linear(hidden_size, n_tokens)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr)

    def forward(self, inp, hidden):
        output, hidden = self.rnn(self.encoder(inp.view(1, -1)), hidden)
        return self.decoder(output[0]), hidden

    @torch.no_grad()
    def evaluate(self, predict_len=8):
        inp, hidden, text = torch.tensor([0]), None, ""
        for _ in range(predict_len):
            output, hidden = self(inp, hidden)
            inp = torch.multinomial(F.softmax(output, dim=1), 1)[0]
            if TOKENS[inp.item()] == ">":
                break
            text += TOKENS[inp.item()]
        return text


def nitrogen_reward(text):
    return 2.0 * text.count("N") / max(len(text), 1) - 1.0


class Reinforcement:
    def __init__(self, generator, get_reward):
        self.generator = generator
        self.get_reward = get_reward

    def policy_gradient(self, n_batch=8, gamma=0.97):
        rl_loss = 0.0
        total_reward = 0.0
        self.generator.optimizer.zero_grad()
        for _ in range(n_batch):
            trajectory = self.generator.evaluate() + ">"
            reward = self.get_reward(trajectory[:-1])
            total_reward += reward
            discounted_reward = reward
            inp, hidden = torch.tensor([0]), None
            for token in trajectory:
                output, hidden = self.generator(inp, hidden)
                log_probs = F.log_softmax(output, dim=1)
                top_i = TOKENS.index(token)
                rl_loss -= log_probs[0, top_i] * discounted_reward
                discounted_reward = discounted_reward * gamma
                inp = torch.tensor([top_i])
        rl_loss = rl_loss / n_batch
        rl_loss.backward()
        nn.utils.clip_grad_norm_(self.generator.parameters(), 5.0)
        self.generator.optimizer.step()
        return total_reward / n_batch, rl_loss.item()


def main():
    generator = StackAugmentedRNN()
    rl = Reinforcement(generator, nitrogen_reward)
    rewards = []
    for step in range(1, 81):
        reward, rl_loss = rl.policy_gradient()
        rewards.append(reward)
        if step % 20 == 0:
            print(f"step {step}: reward {sum(rewards[-20:]) / 20:.3f} loss {rl_loss:.3f}")
    print("samples:", *(generator.evaluate() or "-" for _ in range(5)))


if __name__ == "__main__":
    main()
