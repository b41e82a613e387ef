import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
VOCAB, EMB, HID, LEN, BATCH = 20, 24, 48, 12, 32
PAD, BOS = 0, 1


def sample_sentences(n):
    words = torch.randint(2, VOCAB, (n, LEN))
    style = (words[:, 0] >= VOCAB // 2).long()
    return words, style


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, EMB, padding_idx=PAD)
        self.gru = nn.GRU(EMB, HID, num_layers=1)
        self.to_latent = nn.Linear(HID, HID)

    def forward(self, tokens):
        states, _ = self.gru(self.embed(tokens))
        return torch.sigmoid(self.to_latent(states))


class TransferModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.style_head = nn.Linear(HID, 2)
        self.first_word = nn.Linear(HID, VOCAB)

    def forward(self, tokens):
        latent = self.encoder(tokens)
        summary = latent[:, -1]
        return self.style_head(summary), self.first_word(latent[:, 2])


def evaluate(model, words, style):
    model.eval()
    with torch.no_grad():
        s, w = model(words)
        acc_style = (s.argmax(1) == style).float().mean().item()
        acc_word = (w.argmax(1) == words[:, 1]).float().mean().item()
    model.train()
    return acc_style, acc_word


def main():
    train_words, train_style = sample_sentences(3200)
    val_words, val_style = sample_sentences(600)
    model = TransferModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(9):
        order = torch.randperm(len(train_words))
        running = 0.0
        for i in range(0, len(order), BATCH):
            idx = order[i:i + BATCH]
            words, style = train_words[idx], train_style[idx]
            s, w = model(words)
            loss = F.cross_entropy(s, style) + F.cross_entropy(w, words[:, 1])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            running += loss.item()
        if epoch % 3 == 2:
            a, b = evaluate(model, val_words, val_style)
            print(f"epoch {epoch + 1} loss {running / (len(order) // BATCH):.3f} style acc {a:.3f} word acc {b:.3f}")
    a, b = evaluate(model, val_words, val_style)
    print(f"final: style acc {a:.3f}, word acc {b:.3f}")


main()
