import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(19)


class Agent:
    def __init__(self, model, batch_size=8, optim_batch_size=64, lr=3e-3):
        self.model = model
        self.batch_size = batch_size
        self.optim_batch_size = optim_batch_size
        self.criterion = nn.CrossEntropyLoss(reduction="none")
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train_one_epoch(self, data_loader):
        self.model.train()
        samples_since_step, total = 0, 0.0
        self.optimizer.zero_grad()
        for batch_idx, (x, y) in enumerate(data_loader):
            loss = self.criterion(self.model(x), y).sum() / self.optim_batch_size
            loss.backward()
            total += loss.item()
            samples_since_step += len(x)
            if samples_since_step >= self.optim_batch_size:
                nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
                self.optimizer.step()
                self.optimizer.zero_grad()
                samples_since_step = 0
        return total

    @torch.no_grad()
    def validate(self, x, y):
        self.model.eval()
        guess = self.model(x).argmax(1)
        return [round((guess[y == c] == c).float().mean().item(), 3) for c in range(5)]


def make_data(centers):
    x, y = [], []
    for label, count in enumerate([80, 80, 80, 80, 56]):
        x.append(centers[label] + torch.randn(count, 12))
        y.append(torch.full((count,), label))
    return torch.cat(x), torch.cat(y)


def main():
    centers = torch.randn(5, 12) * 1.2
    x, y = make_data(centers)
    loader = DataLoader(TensorDataset(x, y), batch_size=8)
    agent = Agent(nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 5)))
    for epoch in range(20):
        loss = agent.train_one_epoch(loader)
        if epoch % 5 == 0:
            print(f"epoch {epoch}: loss {loss:.3f}")
    print(f"loss {loss:.3f} accuracy of each class", agent.validate(*make_data(centers)))


main()
