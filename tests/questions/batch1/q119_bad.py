import random

import torch
import torch.nn as nn

n_letters, n_hidden, n_categories = 8, 32, 3


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, letter, hidden):
        hidden = torch.tanh(self.i2h(torch.cat((letter, hidden), 1)))
        return self.softmax(self.i2o(hidden)), hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


def random_example():
    category = random.randrange(n_categories)
    letters = [random.choice([category, category + 3, 6, 7]) for _ in range(6)]
    line = torch.zeros(len(letters), 1, n_letters)
    for i, letter in enumerate(letters):
        line[i][0][letter] = 1
    return torch.tensor([category]), line


torch.manual_seed(0)
random.seed(0)
rnn = RNN(n_letters, n_hidden, n_categories)
hidden = rnn.init_hidden()
output, hidden = rnn(random_example()[1][0], hidden)
print("one step:", output)

criterion = nn.NLLLoss()
learning_rate = 0.05
optimizer = torch.optim.SGD(rnn.parameters(), lr=learning_rate)


def train(category_tensor, line_tensor):
    hidden = rnn.init_hidden()
    rnn.zero_grad()
    for letter in line_tensor:
        output, hidden = rnn(letter, hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    optimizer.step()
    return loss.item()


n_epochs, print_every = 1500, 300
rnn = RNN(n_letters, n_hidden, n_categories)
current_loss = 0.0
for epoch in range(1, n_epochs + 1):
    category_tensor, line_tensor = random_example()
    current_loss += train(category_tensor, line_tensor)
    if epoch % print_every == 0:
        print(f"{epoch} loss {current_loss / print_every:.4f}")
        current_loss = 0.0
