import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn import functional as F

torch.manual_seed(0)

ROUNDS, WORDS, FEAT, HID, BATCH = 5, 6, 6, 32, 64


class QuestionBot(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 8)
        self.history = nn.GRUCell(8 + 1, HID)
        self.decoder = nn.Linear(HID, WORDS)
        self.feature_regressor = nn.Linear(HID, FEAT)

    def init_hidden(self, batch):
        return torch.zeros(batch, HID)

    def ask(self, hidden):
        dist = Categorical(logits=self.decoder(hidden))
        question = dist.sample()
        return question, dist.log_prob(question)

    def observe(self, hidden, question, answer):
        return self.history(torch.cat([self.embed(question), answer], 1), hidden)


def answer_bot(image, question):
    return image.gather(1, question.unsqueeze(1))


def distance(prediction, image):
    return F.mse_loss(prediction, image, reduction="none").sum(1)


def train_step(bot, optimizer, image):
    hidden = bot.init_hidden(len(image))
    previous = distance(bot.feature_regressor(hidden), image)
    loss = 0.0
    for _ in range(ROUNDS):
        question, log_prob = bot.ask(hidden)
        answer = answer_bot(image, question)
        hidden = bot.observe(hidden, question, answer)
        current = distance(bot.feature_regressor(hidden), image)
        reward = previous - current
        loss = loss - (log_prob * reward).mean()
        loss = loss + 1.0 * current.mean()
        previous = current
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return current.mean().item()


bot = QuestionBot()
optimizer = torch.optim.Adam(bot.parameters(), lr=2e-3)
window = []
for step in range(250):
    image = torch.randn(BATCH, FEAT)
    window.append(train_step(bot, optimizer, image))
    if (step + 1) % 50 == 0:
        print(f"step {step + 1}: distance to the image {sum(window) / len(window):.3f}")
        window = []
