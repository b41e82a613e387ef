import torch
from torch import nn

torch.manual_seed(0)

BATCH, CHUNK, CHUNKS, GENRES = 24, 6, 5, 4


class LSTM(nn.Module):
    def __init__(self, input_dim, hidden_dim, batch_size, output_dim):
        super().__init__()
        self.hidden_dim, self.batch_size = hidden_dim, batch_size
        self.lstm = nn.LSTM(input_dim, hidden_dim)
        self.linear = nn.Linear(hidden_dim, output_dim)

    def init_hidden(self):
        shape = (1, self.batch_size, self.hidden_dim)
        return torch.zeros(shape), torch.zeros(shape)

    def forward(self, input):
        lstm_out, hidden = self.lstm(input)
        return self.linear(lstm_out[-1])


def songs():
    genre = torch.randint(0, GENRES, (BATCH,))
    x = 0.3 * torch.randn(CHUNK * CHUNKS, BATCH, 6)
    x[:CHUNK, torch.arange(BATCH), genre] += 1.0
    return x, genre


def epoch_of(model, optimizer, loss_fn, songs_per_epoch=12):
    loss_sum, right = 0.0, 0
    model.hidden = model.init_hidden()
    for _ in range(songs_per_epoch):
        x, genre = songs()
        model.hidden = model.init_hidden()
        for chunk in x.split(CHUNK):
            model.zero_grad()
            pred = model(chunk)
            loss = loss_fn(pred, genre)
            loss.backward()
            optimizer.step()
            loss_sum += loss.item()
        right += (pred.argmax(1) == genre).sum().item()
    return loss_sum / (songs_per_epoch * CHUNKS), right / (songs_per_epoch * BATCH)


def main():
    model = LSTM(6, 24, BATCH, GENRES)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(14):
        loss, acc = epoch_of(model, optimizer, loss_fn)
        if epoch % 4 == 1:
            print(f"epoch {epoch} loss {loss:.3f} accuracy on the last chunk {acc:.3f}")


main()
