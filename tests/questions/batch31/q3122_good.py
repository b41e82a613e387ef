import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader

torch.set_num_threads(1)
torch.manual_seed(0)
np.random.seed(0)


class Dataset(torch.utils.data.Dataset):
    def __init__(self, sequence_length=10):
        first = "a dog and a cat saw the bird while the bird saw a dog so the cat ran".split()
        second = "the cow met a pig when a pig met the cow and then the hen hid".split()
        text = []
        for _ in range(60):
            text += first if np.random.rand() < 0.5 else second
        self.uniq_words = sorted(set(text))
        index = {w: i for i, w in enumerate(self.uniq_words)}
        self.words_indexes = [index[w] for w in text]
        self.sequence_length = sequence_length

    def __len__(self):
        return len(self.words_indexes) - self.sequence_length

    def __getitem__(self, i):
        return (torch.tensor(self.words_indexes[i:i + self.sequence_length]),
                torch.tensor(self.words_indexes[i + 1:i + self.sequence_length + 1]))


class Model(nn.Module):
    def __init__(self, dataset):
        super().__init__()
        self.lstm_size, self.num_layers = 48, 2
        n_vocab = len(dataset.uniq_words)
        self.embedding = nn.Embedding(n_vocab, 48)
        self.lstm = nn.LSTM(input_size=self.lstm_size, hidden_size=self.lstm_size, num_layers=self.num_layers,
                            batch_first=True)
        self.fc = nn.Linear(self.lstm_size, n_vocab)

    def forward(self, x, prev_state):
        output, state = self.lstm(self.embedding(x), prev_state)
        return self.fc(output), state

    def init_state(self, batch_size):
        return (torch.zeros(self.num_layers, batch_size, self.lstm_size),
                torch.zeros(self.num_layers, batch_size, self.lstm_size))


def train(dataset, model, batch_size=32, max_epochs=8):
    model.train()
    dataloader = DataLoader(dataset, batch_size=batch_size, shuffle=True, drop_last=True)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=0.005)
    for epoch in range(max_epochs):
        total = 0.0
        for x, y in dataloader:
            state_h, state_c = model.init_state(batch_size)
            optimizer.zero_grad()
            y_pred, (state_h, state_c) = model(x, (state_h, state_c))
            loss = criterion(y_pred.transpose(1, 2), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print({"epoch": epoch, "loss": round(total / len(dataloader), 4)})


dataset = Dataset()
model = Model(dataset)
train(dataset, model)
