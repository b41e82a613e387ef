import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class LanguageModel(nn.Module):
    def __init__(self, vocab=60, size=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, size)
        self.encoder = nn.GRU(size, size, batch_first=True)

    def forward(self, tokens):
        _, h = self.encoder(self.embed(tokens))
        return h[-1]


class RegressionHead(nn.Module):
    def __init__(self, size=24):
        super().__init__()
        self.feed_forward = nn.Linear(size, 1)
        self.loss_fct = nn.MSELoss()

    def forward(self, pooled):
        return self.feed_forward(pooled)

    def logits_to_loss(self, logits, labels):
        return self.loss_fct(logits.squeeze(), labels)


class AdaptiveModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.language_model = LanguageModel()
        self.head = RegressionHead()

    def forward(self, tokens):
        return self.head(self.language_model(tokens))


def make_data(count=480, length=12):
    tokens = torch.randint(0, 60, (count, length))
    values = torch.randn(60)
    labels = values[tokens].sum(1) * 1.5 + 8
    return TensorDataset(tokens, labels.unsqueeze(1))


def main():
    data = make_data()
    labels = data.tensors[1]
    model = AdaptiveModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(12):
        for tokens, target in DataLoader(data, batch_size=32, shuffle=True):
            loss = model.head.logits_to_loss(model(tokens), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        prediction = model(data.tensors[0])
    print("train loss", round(loss.item(), 2))
    print("spread of predictions", round(prediction.std().item(), 3), "of labels", round(labels.std().item(), 3))
    print("error", round((prediction - labels).pow(2).mean().item(), 2))


main()
