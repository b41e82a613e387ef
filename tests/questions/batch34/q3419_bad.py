import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class MaskedLM(nn.Module):
    def __init__(self, vocab=40, size=96):
        super().__init__()
        self.embed = nn.Embedding(vocab, size)
        self.drop = nn.Dropout(0.5)
        self.body = nn.Sequential(nn.Linear(8 * size, 192), nn.ReLU(), nn.Dropout(0.5), nn.Linear(192, 192), nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(192, vocab)

    def forward(self, ids):
        return self.head(self.body(self.drop(self.embed(ids)).flatten(1)))


class LanguageModelingModel:
    def __init__(self, args):
        self.args = args
        self.model = MaskedLM()

    def train(self, train_set, eval_set):
        loader = DataLoader(train_set, batch_size=32, shuffle=True)
        optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.model.train()
        global_step = 0
        for epoch in range(self.args["epochs"]):
            for ids, labels in loader:
                loss = F.cross_entropy(self.model(ids), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                global_step += 1
                if self.args["evaluate_during_training"] and global_step % self.args["eval_steps"] == 0:
                    result = self.eval_model(eval_set)
                    print(global_step, "train", round(loss.item(), 3), "eval", round(result, 3))
        return self.eval_model(eval_set)

    def eval_model(self, eval_set):
        self.model.eval()
        total = 0.0
        with torch.no_grad():
            for ids, labels in DataLoader(eval_set, batch_size=64):
                total += F.cross_entropy(self.model(ids), labels, reduction="sum").item()
        return total / len(eval_set)


def make_set(count, table):
    ids = torch.randint(0, 40, (count, 8))
    labels = table[ids[:, 3]]
    noise = torch.rand(count) < 0.1
    return TensorDataset(ids, torch.where(noise, torch.randint(0, 40, (count,)), labels))


def main():
    table = torch.randint(0, 40, (40,))
    train_set, eval_set = make_set(480, table), make_set(320, table)
    model = LanguageModelingModel({"epochs": 12, "evaluate_during_training": True, "eval_steps": 45})
    print("final eval loss", round(model.train(train_set, eval_set), 3))


main()
