import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(37)


class SentenceModel(nn.Module):
    def __init__(self, vocab_size=20, embedding_size=16, hidden_size=24, latent_size=8, classes=5):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.encoder_rnn = nn.GRU(embedding_size, hidden_size, bidirectional=True, batch_first=True)
        self.hidden2mean = nn.Linear(hidden_size * 2, latent_size)
        self.outputs2class = nn.Linear(latent_size, classes)

    def forward(self, input_sequence):
        batch_size = input_sequence.size(0)
        _, hidden = self.encoder_rnn(self.embedding(input_sequence))
        hidden = hidden.view(batch_size, self.hidden_size * 2)
        return self.outputs2class(torch.tanh(self.hidden2mean(hidden)))


def make_batch(size=64, length=8):
    tokens = torch.randint(5, 20, (size, length))
    labels = torch.randint(0, 5, (size,))
    place = torch.randint(0, length, (size,))
    tokens[torch.arange(size), place] = labels
    return tokens, labels


model = SentenceModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for iteration in range(250):
    tokens, labels = make_batch()
    logits = model(tokens)
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 50 == 0 or iteration == 249:
        accuracy = (logits.argmax(1) == labels).float().mean().item()
        print(f"iteration {iteration}: loss {loss.item():.4f} accuracy {accuracy:.3f}")
