import torch
from torch import nn

torch.manual_seed(0)

TAGS = 5


class LinearChainCRF(nn.Module):
    def __init__(self, tags):
        super().__init__()
        self.transitions = nn.Parameter(0.1 * torch.randn(tags, tags))

    def forward(self, emissions, tags):
        score = emissions.gather(2, tags.unsqueeze(2)).sum((1, 2))
        score = score + self.transitions[tags[:, :-1], tags[:, 1:]].sum(1)
        alpha = emissions[:, 0]
        for t in range(1, emissions.size(1)):
            alpha = torch.logsumexp(alpha.unsqueeze(2) + self.transitions, dim=1) + emissions[:, t]
        return (torch.logsumexp(alpha, dim=1) - score).mean()


class HMNeTNERModel(nn.Module):
    def __init__(self, vocab=60, hidden=32):
        super().__init__()
        self.bert = nn.Sequential(nn.Embedding(vocab, hidden), nn.Linear(hidden, hidden), nn.Tanh())
        self.encoder_conv = nn.Conv1d(hidden, hidden, 3, padding=1)
        self.fc = nn.Linear(hidden, TAGS)
        self.crf = LinearChainCRF(TAGS)

    def forward(self, ids, tags):
        hidden = self.bert(ids)
        hidden = hidden + self.encoder_conv(hidden.transpose(1, 2)).transpose(1, 2)
        return self.crf(self.fc(hidden), tags)


class NERTrainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.lr = lr
        self.before_multimodal_train()

    def before_multimodal_train(self):
        parameters = []
        params = {"lr": self.lr, "weight_decay": 1e-2, "params": []}
        for name, param in self.model.named_parameters():
            if "bert" in name:
                params["params"].append(param)
        parameters.append(params)

        params = {"lr": self.lr, "weight_decay": 1e-2, "params": []}
        for name, param in self.model.named_parameters():
            if "encoder_conv" in name:
                params["params"].append(param)
        parameters.append(params)

        params = {"lr": 2e-2, "weight_decay": 1e-2, "params": []}
        for name, param in self.model.named_parameters():
            if "crf" in name or name.startswith("fc"):
                params["params"].append(param)
        self.optimizer = torch.optim.AdamW(parameters)

    def train(self, ids, tags, epochs=6):
        for epoch in range(1, epochs + 1):
            total = 0.0
            for index in torch.randperm(len(ids)).split(32):
                loss = self.model(ids[index], tags[index])
                loss.backward()
                self.optimizer.step()
                self.optimizer.zero_grad()
                total += loss.item()
            if epoch % 2 == 0:
                print(f"epoch {epoch}: loss {total / (len(ids) / 32):.4f}")


def main():
    ids = torch.randint(0, 60, (512, 6))
    tags = ids % TAGS
    NERTrainer(HMNeTNERModel()).train(ids, tags)


if __name__ == "__main__":
    main()
