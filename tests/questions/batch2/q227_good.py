import torch
import torch.nn as nn


class fMRI_LSTM(nn.Module):
    def __init__(self, hidden_dim, input_dim, batch_size):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.lstm = nn.LSTM(input_dim, hidden_dim, num_layers=1, batch_first=True)
        self.linear = nn.Linear(hidden_dim, 1)
        self.dropout = nn.Dropout(p=0.2)
        self.hidden = self.init_hidden(batch_size)

    def init_hidden(self, batch_size):
        return (torch.randn(1, batch_size, self.hidden_dim), torch.randn(1, batch_size, self.hidden_dim))

    def forward(self, x):
        lstm_out, self.hidden = self.lstm(x)
        out = self.dropout(lstm_out[:, -1, :])
        return torch.sigmoid(self.linear(out)).squeeze(1)


def load(n):
    label = (torch.rand(n) < 0.5).float()
    t = torch.linspace(0, 6.28, 30).view(1, 30, 1)
    signal = torch.sin(t * (1 + label.view(n, 1, 1))) + 0.5 * torch.randn(n, 30, 6)
    return signal, label


def train(epochs=6, batch_size=32):
    model = fMRI_LSTM(24, 6, batch_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.BCELoss()
    x_train, y_train = load(320)
    for epoch in range(epochs):
        for x, y in zip(x_train.split(batch_size), y_train.split(batch_size)):
            optimizer.zero_grad()
            prediction = model(x)
            loss = loss_fn(prediction, y)
            loss.backward()
            optimizer.step()
        acc = ((prediction > 0.5).float() == y).float().mean()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")


torch.manual_seed(0)
train()
